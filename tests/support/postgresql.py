"""A real PostgreSQL server for the tests of a session, on a socket in a folder."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "s3cret-word"  # noqa: S105 - of a server that only the tests see


def programs():
    """The folder of the server's programs, or None.

    Debian has programs for each version that are not in the path; the command for clusters shows
    that they should be used.
    """
    if initdb := shutil.which("initdb"):
        return Path(initdb).parent
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max(folders).parent if shutil.which("pg_ctlcluster") else None


@dataclass(frozen=True)
class Server:
    """A server; its only user is ``shop``."""

    folder: Path

    def connect(self, **options):
        import psycopg

        return psycopg.connect(
            host=str(self.folder), user="shop", dbname="postgres", password=PASSWORD, **options
        )

    def url(self, database):
        """The address of a database, as SQLAlchemy has it."""
        return f"postgresql://shop:{PASSWORD}@/{database}?host={self.folder}"

    @contextmanager
    def database(self, name, template="template1"):
        """A new database, dropped in the end; its address."""
        with self.connect(autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            with self.connect(autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def replace(self, name, template):
        """Make a database as a copy of another database without connections."""
        with self.connect(autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")


def _as_server(*words):
    """A command as the user of the server, which refuses root."""
    words = ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else list(words)
    subprocess.run(words, check=True, capture_output=True)


@contextmanager
def running(*options):
    """A server in a folder of its own, with these options; stopped in the end."""
    # a path of a socket is short, and its folder can be entered by the server's user
    with tempfile.TemporaryDirectory(prefix="rankgate-pg-") as name:
        folder, tools = Path(name), programs()
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        (folder / "password").write_text(PASSWORD)
        data = ["-D", str(folder / "data")]
        begin = ["-A", "scram-sha-256", "--no-sync", "-U", "shop"]
        _as_server(str(tools / "initdb"), *data, *begin, f"--pwfile={folder / 'password'}")
        settings = " ".join(f"-c {option}" for option in options)
        settings = f"-c listen_addresses= -c unix_socket_directories={folder} {settings}"
        control = [str(tools / "pg_ctl"), *data, "-w", "-l", str(folder / "log")]
        _as_server(*control, "-o", settings, "start")
        try:
            yield Server(folder)
        finally:
            _as_server(*control, "-m", "immediate", "stop")


@pytest.fixture(scope="session")
def postgresql_server():
    with running("fsync=off") as server:
        yield server
