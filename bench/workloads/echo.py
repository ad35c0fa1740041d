# SPDX-License-Identifier: MIT
"""asyncio: an echo server, 50 clients of it, and 500 sleeping tasks; Python 3.7 and later."""

import asyncio

import shared


async def serve(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        writer.write(line)
        await writer.drain()


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        for _ in range(20):
            writer.write(b"hello world\n")
            await writer.drain()
            await reader.readline()
        shared.tick()


async def sleeper():
    while True:
        await asyncio.sleep(5)


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    tasks = [client(port) for _ in range(50)] + [sleeper() for _ in range(500)]
    shared.ready()
    await asyncio.gather(*tasks)


asyncio.run(main())
