"""A phone of the crew as its program works: a key of its own, a signed line for each scan, batches."""

import base64
import json
from datetime import datetime
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from boarding.devices import enrolment
from tests.instants import NOW


class Phone:
    """An enrolled phone; `line()` is a signed record, `send()` uploads."""

    def __init__(self, app, name="motorista-1") -> None:
        self.app, self.client, self.key, self.seq = app, app.test_client(), Ed25519PrivateKey.generate(), 0
        with app.extensions["database"].transaction() as session:
            self.code = enrolment.make_code(session, now=NOW, actor="office-1")
        answer = self.enrol(name)
        assert answer.status_code == 201, answer.get_data()
        self.id, self.token = answer.get_json()["device"], answer.get_json()["token"]

    def enrol(self, name="motorista-1"):
        public = base64.b64encode(self.key.public_key().public_bytes_raw()).decode()
        return self.client.post("/api/v1/devices", json={"code": self.code, "public_key": public, "name": name})

    def line(self, trip: int, when: datetime, *, key=None, **told) -> dict:
        self.seq += 1
        body = {"id": str(uuid4()), "device": self.id, "seq": self.seq, "trip_id": trip, "kind": "scan", "stop_seq": 0,
                "result": "OK", "at": when.isoformat(), **told}
        text = json.dumps(body)
        signature = base64.b64encode((key or self.key).sign(b"BL1\0" + text.encode())).decode()
        return {"id": body["id"], "device": self.id, "body": text, "signature": signature}

    def send(self, *lines) -> dict:
        answer = self.client.post("/api/v1/scans", json={"records": list(lines)}, headers=self.headers)
        assert answer.status_code == 200, answer.get_data()
        told = answer.get_json()
        assert told["acknowledged"] == [line["id"] for line in lines]
        return told

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}
