module example.org/service
