#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for MLflow's tracking server, as far as its REST interface is used: keeps what it is sent, and can be unwell.

    mlflow_server.py PORT_FILE KEPT_FILE [PORT]

KEPT_FILE is replaced after each request by {"requests": N, "runs": {ID: {"name", "status", "params": {}, "metrics": [[key, value, step], ...]}}}.
A file KEPT_FILE.mood tells how it answers: "500", "slow" (ten seconds) or "nonsense"; without it, well.
"""
import http.server
import json
import os
import pathlib
import sys
import time

port_file, kept_file = map(pathlib.Path, sys.argv[1:3])
experiments, runs, requests = {}, {}, 0


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode() if not isinstance(body, bytes) else body
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_request(self, body):
        global requests
        requests += 1
        mood = pathlib.Path(f"{kept_file}.mood")
        mood = mood.read_text() if mood.exists() else ""
        if mood == "slow":
            time.sleep(10)
        path = self.path.split("/mlflow/")[-1]
        answers = {"500": (500, {"message": "no disk"}), "nonsense": (200, b"<html>hello</html>")}
        answer = answers[mood] if mood in answers else take(path, body)
        keep()  # before the answer: a client that has it finds the file as it is now
        self.answer(*answer)

    def do_GET(self):
        self.handle_request(None)

    def do_POST(self):
        self.handle_request(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))


def take(path, body):
    if path.startswith("experiments/get-by-name"):
        name = path.split("=")[1]
        if name not in experiments:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST"}
        return 200, {"experiment": {"experiment_id": experiments[name]}}
    if path == "experiments/create":
        experiments[body["name"]] = "1"
        return 200, {"experiment_id": "1"}
    if path == "runs/create":
        identifier = f"run{len(runs)}"
        runs[identifier] = {"name": body["run_name"], "status": "RUNNING", "params": {}, "metrics": []}
        return 200, {"run": {"info": {"run_id": identifier}}}
    run = runs[body["run_id"]]
    if path == "runs/update":
        run["status"] = body["status"]
    elif path == "runs/log-batch":
        if len(body.get("metrics", [])) > 1000 or len(body.get("params", [])) > 100:
            return 400, {"message": "too many"}
        for metric in body.get("metrics", []):
            run["metrics"].append([metric["key"], metric["value"], metric["step"]])
        run["params"] |= {each["key"]: each["value"] for each in body.get("params", [])}
    return 200, {}


def keep():
    temporary = pathlib.Path(f"{kept_file}.new")
    temporary.write_text(json.dumps({"requests": requests, "runs": runs}))
    os.replace(temporary, kept_file)


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Handler)
port_file.with_suffix(".new").write_text(str(server.server_address[1]))
os.replace(port_file.with_suffix(".new"), port_file)
server.serve_forever()
