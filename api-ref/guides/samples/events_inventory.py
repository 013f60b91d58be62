"""Keep a copy of the nodes' states current: events_inventory.py URL [ROUNDS]"""

import json
import sys
import urllib.error
import urllib.request

FIELDS = ("name", "provision_state", "power_state", "maintenance")


def get(path):
    request = urllib.request.Request(URL + path, headers={"X-OpenStack-Ironic-API-Version": "1.115"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def read_lists():
    """Begin with a cursor, then read the lists: each later change comes as an event."""
    cursor = get("/scheduling/v1/events?after=now")["cursor"]
    nodes = get(f"/baremetal/v1/nodes?fields=uuid,{','.join(FIELDS)}")["nodes"]
    return cursor, {node["uuid"]: {name: node[name] for name in FIELDS} for node in nodes}


def follow(cursor, inventory):
    """Wait for events, apply them, and return the next cursor."""
    answer = get(f"/scheduling/v1/events?after={cursor}&wait=30")
    for event in answer["events"]:
        data = event["data"]
        if event["type"] == "baremetal.node.delete.end":
            inventory.pop(event["subject"], None)
        elif event["type"].startswith("baremetal.node.") and "provision_state" in data:
            # These have the node's state, in the order of its changes, unless the reader may not see it.
            inventory[event["subject"]] = {name: data[name] for name in FIELDS}
        print(event["type"], event["subject"], data.get("provision_state"), flush=True)
    return answer["cursor"]


URL = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else None
cursor, inventory = read_lists()
print(f"{len(inventory)} nodes", flush=True)
while rounds is None or rounds > 0:
    rounds = None if rounds is None else rounds - 1
    try:
        cursor = follow(cursor, inventory)
    except urllib.error.HTTPError as error:
        if error.code != 410:
            raise
        cursor, inventory = read_lists()  # it was away for too long, or a backup was restored
print(json.dumps(inventory))
