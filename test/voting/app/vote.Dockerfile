FROM voting/debian
COPY vote.py /app/
CMD ["python3", "/app/vote.py"]
