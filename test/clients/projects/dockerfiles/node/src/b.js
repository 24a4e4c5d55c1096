two();
