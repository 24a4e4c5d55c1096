"""What a Python program does with an engine, by docker-py; prints one JSON object that the test looks at."""
import io
import json
import sys
import time
import docker

client = docker.DockerClient(base_url=sys.argv[1], version=sys.argv[2])
seen = {"ping": client.ping(), "api": client.api.api_version, "os": client.version()["Os"]}

seen["run"] = client.containers.run("busybox", ["echo", "from python"], remove=True).decode()
try:
    client.containers.run("busybox", ["sh", "-c", "echo broken >&2; exit 4"], remove=True)
except docker.errors.ContainerError as error:
    seen["failure"] = [error.exit_status, error.stderr.decode()]

container = client.containers.run(
    "busybox", ["sh", "-c", "echo up; exec sleep 1000"], detach=True, name="py", environment={"A": "1"},
    labels={"by": "python"}, mem_limit="64m", tmpfs={"/scratch": ""}, volumes={"pydata": {"bind": "/data", "mode": "rw"}},
)
container.reload()
seen["status"] = container.status
seen["list"] = [found.name for found in client.containers.list(filters={"label": "by=python"})]
code, output = container.exec_run(["sh", "-c", "echo $A; exit 3"])
seen["exec"] = [code, output.decode()]
code, (out, err) = container.exec_run(["sh", "-c", "echo o; echo e >&2"], demux=True)
seen["demux"] = [out.decode(), err.decode()]
while not container.logs():
    time.sleep(0.05)
seen["logs"] = container.logs().decode()
container.stop(timeout=0)
seen["wait"] = container.wait()["StatusCode"]
container.remove()
try:
    client.containers.get("py")
except docker.errors.NotFound:
    seen["gone"] = True
client.volumes.get("pydata").remove()

image = client.images.get("busybox:latest")
saved = b"".join(image.save(named=True))
image.tag("py/copy", "1")
seen["tags"] = sorted(client.images.get("py/copy:1").tags)
client.images.remove("py/copy:1")
seen["loaded"] = [tag for loaded in client.images.load(io.BytesIO(saved)) for tag in loaded.tags]
seen["events"] = [
    event["Action"] for event in client.events(since=0, until=int(time.time()) + 1, decode=True,
                                               filters={"container": container.id, "event": ["create", "die", "destroy"]})
]
print(json.dumps(seen))
