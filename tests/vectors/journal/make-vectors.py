"""Makes the vectors of this directory from the inputs in them, without any code of Palyra.

    python3 make-vectors.py     (needs the `cryptography` package)

Read from entries.json: the fields of the entries. From tree.json: the leaves after them, and which proofs are wanted.
From checkpoint.json and key-statements.json: the seeds. Everything else is computed. Text is ASCII throughout, so that
Python's sorted JSON is canonical JSON (RFC 8785).
"""

import base64
import hashlib
import json
import pathlib
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = pathlib.Path(__file__).parent


def sha256(data):
    return hashlib.sha256(data).digest()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def b64(data):
    return base64.b64encode(data).decode()


def load(name):
    return json.loads((HERE / name).read_text())


def save(name, value):
    (HERE / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


class Key:
    def __init__(self, text):
        self.seed = sha256(text.encode())
        self.private = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.public = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message):
        return self.private.sign(message)


ROOT = Key("palyra test root key")
CHECKPOINT = Key("palyra test checkpoint key")
ATTESTATION = Key("palyra test attestation key")
WITNESS = Key("palyra test witness key")


def key_id(name, kind, public):
    return sha256(name.encode() + b"\n" + bytes([kind]) + public)[:4]


def vkey(name, kind, public):
    return f"{name}+{key_id(name, kind, public).hex()}+{b64(bytes([kind]) + public)}"


def encode(entry):
    fields = [
        b"palyra.entry/1",
        entry["origin"].encode(),
        struct.pack(">Q", entry["seq"]),
        bytes.fromhex(entry["previous"]),
        struct.pack(">Q", entry["time"]),
        entry["actor"].encode(),
        entry["kind"].encode(),
        struct.pack(">I", entry["version"]),
        entry["data"].encode(),
    ]
    return b"".join(struct.pack(">I", len(field)) + field for field in fields)


def split_at(count):
    at = 1
    while at * 2 < count:
        at *= 2
    return at


def root_of(leaves):
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return leaves[0]
    at = split_at(len(leaves))
    return sha256(b"\x01" + root_of(leaves[:at]) + root_of(leaves[at:]))


def inclusion(index, leaves):
    if len(leaves) <= 1:
        return []
    at = split_at(len(leaves))
    if index < at:
        return inclusion(index, leaves[:at]) + [root_of(leaves[at:])]
    return inclusion(index - at, leaves[at:]) + [root_of(leaves[:at])]


def consistency(old, leaves, whole=True):
    if old == len(leaves):
        return [] if whole else [root_of(leaves)]
    at = split_at(len(leaves))
    if old <= at:
        return consistency(old, leaves[:at], whole) + [root_of(leaves[at:])]
    return consistency(old - at, leaves[at:], False) + [root_of(leaves[:at])]


def frontier(leaves):
    roots = []
    while leaves:
        at = 1 << (len(leaves).bit_length() - 1)
        roots.append(root_of(leaves[:at]))
        leaves = leaves[at:]
    return roots


def note_text(origin, leaves):
    return f"{origin}\n{len(leaves)}\n{b64(root_of(leaves))}\n"


def signed_note(origin, leaves):
    text = note_text(origin, leaves)
    signature = key_id(origin, 1, CHECKPOINT.public) + CHECKPOINT.sign(text.encode())
    return f"{text}\n\u2014 {origin} {b64(signature)}\n"


def cosignature(text, name, time):
    signature = WITNESS.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
    return f"\u2014 {name} {b64(key_id(name, 4, WITNESS.public) + struct.pack('>Q', time) + signature)}\n"


def make_entries():
    vectors = load("entries.json")
    previous = bytes(32)
    for entry in vectors["entries"]:
        entry["previous"] = previous.hex()
        encoding = encode(entry)
        previous = sha256(b"\x00" + encoding)
        entry["encoding"], entry["hash"] = encoding.hex(), previous.hex()
    save("entries.json", vectors)
    return [bytes.fromhex(entry["hash"]) for entry in vectors["entries"]]


def make_tree(hashes):
    vectors = load("tree.json")
    leaves = hashes + [bytes.fromhex(leaf) for leaf in vectors["leaves"][len(hashes):]]
    vectors["leaves"] = [leaf.hex() for leaf in leaves]
    for size in vectors["sizes"]:
        part = leaves[: size["size"]]
        size["root"], size["frontier"] = root_of(part).hex(), [root.hex() for root in frontier(part)]
    for proof in vectors["inclusion"]:
        proof["proof"] = [step.hex() for step in inclusion(proof["index"], leaves[: proof["size"]])]
    for proof in vectors["consistency"]:
        proof["proof"] = [step.hex() for step in consistency(proof["old_size"], leaves[: proof["new_size"]])]
    save("tree.json", vectors)


def make_checkpoint(hashes):
    vectors = load("checkpoint.json")
    origin, witness = vectors["origin"], vectors["witness"]
    vectors["size"], vectors["root"] = len(hashes), root_of(hashes).hex()
    vectors["text"], vectors["note"] = note_text(origin, hashes), signed_note(origin, hashes)
    vectors["cosignature"] = cosignature(vectors["text"], witness["name"], witness["time"])
    vectors["cosigned_note"] = vectors["note"] + vectors["cosignature"]
    save("checkpoint.json", vectors)


# One call in a log of its own: a receipt, the bundle with it, and an export of the whole log.

ORIGIN = "palyra/01ARZ3NDEKTSV4RRFFQ69G5FB0"
RUN, SESSION, CALL, RECEIPT = (f"01ARZ3NDEKTSV4RRFFQ69G5F{end}" for end in ("C1", "C2", "C3", "C4"))
ABOUT = {"run_id": RUN, "session_id": SESSION, "call_id": CALL, "principal": "agent:coder", "tool": "palyra.echo"}
TIME = 1750000000000
POLICY_SET = sha256(b"palyra test policy set").hex()
SNAPSHOT = canonical(
    {
        "format": "palyra.policy-snapshot/1",
        "policy_set_sha256": POLICY_SET,
        "preset": "coding",
        "allowed_tools": ["palyra.echo"],
        "max_calls_per_run": 10,
        "execution_timeout_ms": 1000,
        "process_runner": {
            "enabled": False,
            "tier": "C",
            "egress_enforcement_mode": "strict",
            "allowed_egress_hosts": [],
            "allowed_egress_host_suffixes": [],
            "limits": {"cpu_ms": 1000},
        },
        "wasm_runtime": {"enabled": False, "fuel_budget": 0, "memory_bytes": 0, "host_functions": []},
        "skills": [],
        "approvals": {"sensitive_capabilities": ["network"], "timeout_ms": 60000},
    }
)
SNAPSHOT_DIGEST = sha256(SNAPSHOT.encode()).hex()


class Body:
    def __init__(self, name, data):
        self.salt, self.data = sha256(f"palyra test salt {name}".encode()), data
        self.commitment = sha256(self.salt + data).hex()

    def item(self):
        return {"commitment": self.commitment, "salt": self.salt.hex(), "body": b64(self.data)}


class Log:
    def __init__(self):
        self.entries, self.hashes = [], []

    def append(self, actor, kind, data):
        seq = len(self.entries)
        previous = self.hashes[-1] if self.hashes else bytes(32)
        entry = {
            "seq": seq,
            "time": TIME + 7 * seq,
            "actor": actor,
            "kind": kind,
            "version": 1,
            "data": canonical(data),
        }
        leaf = sha256(b"\x00" + encode({**entry, "origin": ORIGIN, "previous": previous.hex()}))
        self.hashes.append(leaf)
        self.entries.append({**entry, "hash": leaf.hex()})
        return seq, leaf.hex()

    def proven(self, seq):
        previous = self.hashes[seq - 1].hex() if seq > 0 else bytes(32).hex()
        proof = [step.hex() for step in inclusion(seq, self.hashes)]
        return {**self.entries[seq], "previous": previous, "proof": proof}


def key_statement(role, key):
    statement = {"origin": ORIGIN, "change": "activated", "role": role, "public_key": key.public.hex(), "position": 0}
    message = canonical({"format": "palyra.key/1", **statement}).encode()
    return {**statement, "signature": ROOT.sign(message).hex()}


def predicate_of(input_body, output_body, anchor):
    seq, digest = anchor
    return {
        "attestation_id": RECEIPT,
        "origin": ORIGIN,
        **ABOUT,
        "input_sha256": input_body.commitment,
        "output_sha256": output_body.commitment,
        "executor": "built_in",
        "sandbox_enforcement": "none",
        "separation": "personal",
        "coverage": "direct",
        "limits": {"cpu_ms": 1000},
        "resources": {"cpu_ms": 3},
        "sandbox": {"network": False},
        "egress": [],
        "policy_snapshot_sha256": SNAPSHOT_DIGEST,
        "policy_set_sha256": POLICY_SET,
        "decision": {"kind": "allow", "policy_ids": ["in-the-box"], "reason_code": "allowed"},
        "outcome": {"kind": "completed", "exit_code": 0},
        "decided_at": TIME + 28,
        "started_at": TIME + 30,
        "ended_at": TIME + 33,
        "anchor": {"kind": "intent", "seq": seq, "hash": digest},
    }


def execution_record(predicate):
    same = "call_id tool input_sha256 output_sha256 executor sandbox_enforcement started_at ended_at policy_snapshot_sha256"
    outcome = predicate["outcome"]
    record = {name: predicate[name] for name in same.split()}
    return canonical(
        {"format": "palyra.execution/1", **record, "outcome": outcome["kind"], "exit_code": outcome["exit_code"]}
    )


def sealed(predicate):
    payload = canonical(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": f"palyra:call:{CALL}", "digest": {"sha256": predicate["execution_sha256"]}}],
            "predicateType": "https://palyra.dev/attestation/tool-call/v1",
            "predicate": predicate,
        }
    ).encode()
    kind = b"application/vnd.in-toto+json"
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signature = {"keyid": sha256(ATTESTATION.public).hex(), "sig": b64(ATTESTATION.sign(signed))}
    envelope = canonical({"payloadType": kind.decode(), "payload": b64(payload), "signatures": [signature]})
    return payload.decode(), signed, envelope


def make_call():
    log = Log()
    statements = [key_statement("checkpoint", CHECKPOINT), key_statement("attestation", ATTESTATION)]
    log.append("daemon:palyrad", "log.created", {"root_key": ROOT.public.hex(), "reason": "created"})
    for statement in statements:
        log.append("daemon:palyrad", "key.changed", {k: v for k, v in statement.items() if k != "origin"})
    asked, told = Body("input", b'{"text":"hello"}'), Body("output", b"hello\n")
    log.append("agent:coder", "proposal", {**ABOUT, "input": asked.commitment})
    decided = {"decision": "allow", "reason_code": "allowed", "policy_ids": ["in-the-box"]}
    settings = {"policy_set": POLICY_SET, "policy_snapshot": SNAPSHOT_DIGEST}
    log.append("daemon:palyrad", "decision", {**ABOUT, **decided, **settings})
    intent = {**ABOUT, "executor": "built_in", "policy_snapshot": SNAPSHOT_DIGEST}
    anchor = log.append("daemon:palyrad", "intent", intent)
    log.append("daemon:palyrad", "outcome", {**ABOUT, "outcome": "completed", "exit_code": 0, "output": told.commitment})

    predicate = predicate_of(asked, told, anchor)
    execution = Body("execution", execution_record(predicate).encode())
    predicate["execution_sha256"] = execution.commitment
    payload, signed, text = sealed(predicate)
    envelope = Body("envelope", text.encode())
    receipt = {"attestation_id": RECEIPT, "anchor_seq": anchor[0], "anchor": anchor[1]}
    bodies = {"envelope": envelope.commitment, "execution": execution.commitment}
    log.append("daemon:palyrad", "attestation", {**ABOUT, **receipt, **bodies})

    save(
        "attestation.json",
        {
            "seed": ATTESTATION.seed.hex(),
            "public_key": ATTESTATION.public.hex(),
            "execution": {
                "salt": execution.salt.hex(),
                "record": execution.data.decode(),
                "execution_sha256": execution.commitment,
            },
            "predicate": predicate,
            "payload": payload,
            "pre_auth_encoding": signed.hex(),
            "envelope": text,
            "snapshot": {"text": SNAPSHOT, "digest": SNAPSHOT_DIGEST},
        },
    )
    by_entry = {3: [asked], 6: [told], 7: [envelope, execution]}
    make_bundle(log, statements, {"input": asked, "output": told, "envelope": envelope, "execution": execution})
    make_export(log, by_entry)


def make_bundle(log, statements, bodies):
    note = signed_note(ORIGIN, log.hashes)
    witness = load("checkpoint.json")["witness"]
    whole = {name: {"salt": bodies[name].salt.hex(), "body": b64(bodies[name].data)} for name in ("input", "output")}
    bundle = {
        "format": "palyra.bundle/1",
        "origin": ORIGIN,
        "root_key": vkey("palyra-root", 1, ROOT.public),
        "keys": statements,
        "checkpoint": note + cosignature(note_text(ORIGIN, log.hashes), witness["name"], witness["time"]),
        "attestation": log.proven(7),
        "anchor": log.proven(5),
        "envelope": {"salt": bodies["envelope"].salt.hex(), "text": bodies["envelope"].data.decode()},
        "execution": {"salt": bodies["execution"].salt.hex()},
        **whole,
        "snapshot": SNAPSHOT,
    }
    (HERE / "bundle.json").write_text(json.dumps(bundle, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")


def make_export(log, by_entry):
    base = {"size": 0, "previous": bytes(32).hex(), "frontier": []}
    head = {"type": "header", "format": "palyra.export/1", "kind": "range", "origin": ORIGIN, "bodies": True}
    lines = [{**head, "root_key": vkey("palyra-root", 1, ROOT.public), "keys": [], "base": base, "end": len(log.entries)}]
    for entry in log.entries:
        seq = entry["seq"]
        if entry["kind"] == "decision":
            lines.append({"type": "snapshot", "digest": SNAPSHOT_DIGEST, "text": SNAPSHOT})
        items = [body.item() for body in by_entry.get(seq, [])]
        lines.append({"type": "entry", **entry, **({"bodies": items} if items else {})})
        if seq in (2, 7):
            lines.append({"type": "checkpoint", "size": seq + 1, "note": signed_note(ORIGIN, log.hashes[: seq + 1])})
    lines.append({"type": "end", "size": len(log.entries), "entries": len(log.entries)})
    text = "".join(
        json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines
    )
    (HERE / "export.ndjson").write_text(text)


if __name__ == "__main__":
    made = make_entries()
    make_tree(made)
    make_checkpoint(made)
    make_call()
