#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hub on 127.0.0.1 that serves the files of a folder as Hugging Face would, and fails as it is told to.

    model_server.py FOLDER PORT_FILE [CERTIFICATE_AND_KEY.pem]

PORT_FILE gets the port, or two where there is a second server, once they listen. The owner of a repository
names its fault: /FAULT/NAME/resolve/... and /api/models/FAULT/NAME/revision/.... A fault "X-once" happens to
the first question for each file (or the list) and the first request for its bytes, "X" to every one, "model-X"
to model.pth alone. NAME keeps tests apart. GET /log gives what was asked so far, a JSON object in each line. What a proxy would be asked is
answered as if it were for us.
"""
import hashlib
import http.server
import json
import os
import pathlib
import re
import ssl
import sys
import threading
import time
import urllib.parse

FOLDER = pathlib.Path(sys.argv[1])
COMMIT = "0123456789abcdef0123456789abcdef01234567"
lock = threading.Lock()
seen = {}  # (repository, file) -> how often it was asked for
log = []
ports = []


def git_blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def entry(path, fault):
    data = path.read_bytes()
    found = {"rfilename": path.name, "size": len(data), "blobId": git_blob(data)}
    if path.suffix == ".pth":
        found["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
    if fault == "list-other-size" and path.name == "model.pth":
        found["size"] += 1
    if fault == "list-other-sum" and path.name == "model.pth":
        found["lfs"]["sha256"] = "0" * 64
    if fault == "list-other-blob" and path.name == "config.json":
        found["blobId"] = "0" * 40
    if fault == "list-huge-size" and path.name == "model.pth":
        found["size"] = 2**63
    if fault == "list-odd-types":
        found = {"rfilename": path.name, "size": "many", "blobId": 7, "lfs": [1]}
    if fault in ("list-names-only", "linked", "linked-other-size", "linked-other-sum", "changes", "changes-always", "no-names"):
        found = {"rfilename": path.name}
    return found


def listing(fault):
    paths = sorted(path for path in FOLDER.iterdir() if path.is_file())
    if fault == "list-without-model":
        paths = [path for path in paths if path.name != "model.pth"]
    files = [entry(path, fault) for path in paths]
    if fault == "list-hostile-names":
        files += [{"rfilename": name, "size": 4} for name in ("../../evil", "/tmp/evil", "a/../../evil", "", None)]
    text = json.dumps({"id": "x/y", "sha": "../../evil" if fault == "list-hostile-commit" else COMMIT, "siblings": files})
    return {"list-cut": text[: len(text) // 2], "list-html": "<html>Welcome to the hotel</html>", "list-empty": "",
            "list-deep": "[" * 200000, "list-number": "7", "list-large": text + " " * (17 << 20),
            "list-no-siblings": "{}"}.get(fault, text)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def note(self):
        with lock:
            log.append({"path": self.path, "range": self.headers.get("Range"), "host": self.headers.get("Host"),
                        "port": self.server.server_address[1], "token": self.headers.get("Authorization")})

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(2)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/log":
            return self.answer(200, "".join(json.dumps(line) + "\n" for line in log).encode())
        self.note()
        try:
            found = re.fullmatch(r"/api/models/([^/]+)/([^/]+)/revision/([^/]+)", path)
            if found:
                return self.serve(found[1], found[2], None)
            found = re.fullmatch(r"(?:/hop\d+)?/([^/]+)/([^/]+)/resolve/([^/]+)/([^/]+)", path)
            if found and (FOLDER / found[4]).is_file():
                return self.serve(found[1], found[2], found[4])
            self.answer(404, b"", [("X-Error-Code", "EntryNotFound")])
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def serve(self, fault, name, file):
        key = fault, name, file, self.headers.get("Range") == "bytes=0-0"  # a question, or the answer
        with lock:
            count = seen[key] = seen.get(key, 0) + 1
            total = sum(seen.get(key[:3] + (question,), 0) for question in (False, True))
        once = fault.endswith("-once")
        is_list_fault = fault.startswith(("list-", "api-"))
        of_other_file = fault.startswith("model-") and file != "model.pth"
        if of_other_file or once and count > 1:
            fault = "none"
        fault = fault.removesuffix("-once").removeprefix("model-")
        if file is None:
            if fault.startswith("api-") and self.common(fault.removeprefix("api-")):
                return
            return self.answer(200, listing(fault).encode(), [("Content-Type", "application/json")])
        if is_list_fault or not self.common(fault):
            self.serve_file(fault, file, total)

    def common(self, fault):
        """Faults of any answer. True: it was one."""
        status = re.fullmatch(r"status-(\d+)(?:-after-(\d+))?", fault)
        if status:
            after = [("Retry-After", status[2])] if status[2] else []
            self.answer(int(status[1]), b"no", after)
        elif fault == "gated":
            self.answer(403, b"", [("X-Error-Code", "GatedRepo")])
        elif fault == "no-revision":
            self.answer(404, b"", [("X-Error-Code", "RevisionNotFound")])
        elif fault == "hang-up":
            self.hang_up()
        elif fault == "garbage":
            self.wfile.write(b"\0\1\2 this is no HTTP\r\n\r\n")
            self.hang_up()
        elif fault == "redirect-loop":
            self.answer(302, b"", [("Location", self.path)])
        elif fault == "redirect-file":
            self.answer(302, b"", [("Location", "file:///etc/passwd")])
        elif fault == "redirect-nowhere":
            self.answer(302, b"", [("Location", "http://nowhere.invalid/x")])
        else:
            return False
        return True

    def redirected(self, fault):
        """Where the fault leads to; nothing: it has come there."""
        hop = re.match(r"/hop(\d+)", self.path)
        hops = int(hop[1]) if hop else 0
        last = int(fault.rsplit("-", 1)[1]) if re.fullmatch(r"redirect-\d+", fault) else 1
        if hops >= last:
            return None
        base = {"redirect-host": f"http://localhost:{ports[0]}", "redirect-port": f"http://127.0.0.1:{ports[1]}"}.get(fault, "")
        return f"{base}/hop{hops + 1}" + re.sub(r"^/hop\d+", "", self.path)

    def serve_file(self, fault, file, count):
        data = (FOLDER / file).read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        if fault.startswith("redirect-") or fault.startswith("linked"):
            target = self.redirected(fault)
            if target:
                linked = [("X-Linked-Size", str(len(data) + (fault == "linked-other-size"))),
                          ("X-Linked-Etag", '"%s"' % ("1" * 64 if fault == "linked-other-sum" else sha))]
                return self.answer(302, b"", [("Location", target)] + (linked if fault.startswith("linked") else []))
        etag = f'"{sha[:32]}"'
        if fault == "changes" and count > 4:
            data, etag = bytes(len(data)), '"another"'
        if fault == "changes-always":
            etag = f'"{count}"'
        if fault == "wrong-bytes":
            data = data[:-1] + bytes([data[-1] ^ 1])
        self.send_data(fault, data, [("ETag", etag)] if fault != "no-names" else [])

    def send_data(self, fault, data, headers):
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked and fault not in ("no-ranges", "no-ranges-break-off"):
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            if first >= len(data):
                return self.answer(416, b"", [("Content-Range", f"bytes */{len(data)}")])
            total = len(data)
            if fault == "more-than-asked" and first != last:
                last = min(last + 1000, total - 1)
            if fault == "other-range" and first != last:
                first -= min(first, 1)
            body = data[first:last + 1]
            headers = headers + [("Content-Range", f"bytes {first}-{last}/{total + (fault == 'range-other-size')}")]
            status = 200 if fault == "ranges-only-of-one-byte" and first != last else 206
        else:
            body, status = data, 200
        length = len(body)
        if length > 1:  # what is only a question is answered
            length += {"length-too-long": 1000, "length-too-short": -1}.get(fault, 0)
        self.send_response(status)
        for name, value in headers + [("Content-Length", str(length))]:
            self.send_header(name, value)
        self.end_headers()
        self.send_body(fault, body, length)

    def send_body(self, fault, body, length):
        if len(body) > 1 and fault in ("break-off", "no-ranges-break-off"):
            self.wfile.write(body[: max(1, len(body) // 2)])
            return self.hang_up()
        if len(body) > 1 and fault == "stall":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            time.sleep(3)
            return self.hang_up()
        if fault.startswith("throttle-"):  # kilobytes in a second
            step = 16 << 10
            for at in range(0, len(body), step):
                self.wfile.write(body[at:at + step])
                time.sleep(step / 1000 / float(fault.rsplit("-", 1)[1]))
            return
        self.wfile.write(body[:length] if length < len(body) else body)
        if length > len(body):
            self.hang_up()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def main():
    servers = [Server(("127.0.0.1", 0), Handler) for _ in range(2)]
    ports.extend(server.server_address[1] for server in servers)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3])
        servers[0].socket = context.wrap_socket(servers[0].socket, server_side=True)
    threading.Thread(target=servers[1].serve_forever, daemon=True).start()
    temporary = sys.argv[2] + ".tmp"
    pathlib.Path(temporary).write_text(" ".join(map(str, ports)))
    os.rename(temporary, sys.argv[2])
    servers[0].serve_forever()


if __name__ == "__main__":
    main()
