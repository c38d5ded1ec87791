"""A web server on this machine for tests: files by name, with a password and a token if asked."""

import base64
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USER, PASSWORD, TOKEN = "me", "p%40ss", "s3cr3t/sig="  # the password as an address has it
SECRETS = (PASSWORD, "p@ss", TOKEN, "s3cr3t")


@contextmanager
def serving(files, protected=False):
    """The address of a server, without `http://`, while it runs."""
    told = base64.b64encode(f"{USER}:p@ss".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name, _, query = self.path.lstrip("/").partition("?")
            allowed = query == f"token={TOKEN}&v=1"
            allowed &= self.headers.get("Authorization") == f"Basic {told}"
            if protected and not allowed:
                self.send_error(403)
            elif name not in files:
                self.send_error(404)
            else:
                self.answer(files[name])

        do_HEAD = do_GET

        def answer(self, whole):
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            start, stop = (int(asked[1]), int(asked[2]) + 1) if asked else (0, len(whole))
            part = whole[start:stop]
            self.send_response(206 if asked else 200)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(part)))
            if asked:
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(whole)}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(part)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def secret_address(host, name):
    """The address of a protected file, with its password and token."""
    return f"http://{USER}:{PASSWORD}@{host}/{name}?token={TOKEN}&v=1"
