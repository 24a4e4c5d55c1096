"""The database as the worker and the result page use it: a connection for one user at a time, made anew when it breaks."""

import time

import psycopg2

AGAIN_AFTER_S = 0.2


class Database:
    connection = None

    def run(self, statement, values=(), seconds=None):
        """Answers the rows; tries again for so long, and for ever without `seconds`."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                return self._run(statement, values)
            except (psycopg2.OperationalError, psycopg2.InterfaceError):
                self.connection = None
                if end is not None and time.monotonic() > end:
                    raise
                time.sleep(AGAIN_AFTER_S)

    def _run(self, statement, values):
        if self.connection is None:
            with open("/run/secrets/db_password", encoding="utf8") as file:
                password = file.read().strip()
            self.connection = psycopg2.connect(
                host="db",
                user="postgres",
                password=password,
                connect_timeout=2,
                keepalives_idle=1,
                keepalives_interval=1,
                keepalives_count=3,
                tcp_user_timeout=3000,
            )
            self.connection.autocommit = True
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description is not None else []
