# escape=`
FROM debian:12
WORKDIR C:\data
RUN echo one ` 
  && echo two
COPY a` b.txt /to/
CMD ["sh", "-c", "echo C:\\\\x"]
