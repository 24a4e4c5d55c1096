FROM voting/debian
COPY worker.py database.py /app/
CMD ["python3", "/app/worker.py"]
