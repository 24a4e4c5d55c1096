"""What a Python program does with services, by docker-py; prints one JSON object that the test looks at."""
import json
import sys
import time
import docker

client = docker.DockerClient(base_url=sys.argv[1], version=sys.argv[2])
seen = {"nodes": [node.attrs["Description"]["Hostname"] for node in client.nodes.list()]}
seen["swarm"] = client.swarm.attrs["Spec"]["Name"]


def running(service, count):
    for _ in range(600):
        tasks = service.tasks(filters={"desired-state": "running"})
        if len([task for task in tasks if task["Status"]["State"] == "running"]) == count:
            return count
        time.sleep(0.1)
    return [(task["Status"]["State"], task["Status"].get("Err")) for task in service.tasks()]


service = client.services.create(
    "busybox", ["sleep", "3600"], name="py", env=["A=1"], labels={"by": "python"}, networks=["none"],
    mode=docker.types.ServiceMode("replicated", replicas=2), restart_policy=docker.types.RestartPolicy("any", delay=0),
)
seen["created"] = [service.name, running(service, 2)]
service.update(env=["A=2"], mode=docker.types.ServiceMode("replicated", replicas=3), networks=["none"])
service.reload()
seen["updated"] = [running(service, 3), service.attrs["Spec"]["TaskTemplate"]["ContainerSpec"]["Env"]]
service.scale(1)
seen["scaled"] = running(service, 1)
seen["list"] = [found.name for found in client.services.list(filters={"label": "by=python"})]
service.remove()
try:
    client.services.get("py")
except docker.errors.NotFound:
    seen["gone"] = True
print(json.dumps(seen))
