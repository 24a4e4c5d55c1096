FROM voting/debian
COPY result.py database.py /app/
CMD ["python3", "/app/result.py"]
