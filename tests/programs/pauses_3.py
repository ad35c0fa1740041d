# SPDX-License-Identifier: MIT
"""The places of pauses.py that only Python 3 can parse."""

import asyncio
import contextlib


def stations(pause):
    def through_yield_from():
        def inner():
            yield pause()

        def middle():
            yield from inner()

        def outer():
            yield from middle()

        list(outer())

    def through_coroutines():
        async def inner():
            await asyncio.sleep(0)
            pause()

        async def outer():
            await inner()

        loop = asyncio.new_event_loop()
        loop.run_until_complete(outer())
        loop.close()

    def through_async_generators():
        class Manager:
            async def __aenter__(self):
                pause()

            async def __aexit__(self, *error):
                pause()

        async def values():
            yield 1
            pause()
            yield 2

        async def outer():
            async with Manager():
                return [value async for value in values()]

        loop = asyncio.new_event_loop()
        loop.run_until_complete(outer())
        loop.close()

    def through_contextlib():
        @contextlib.contextmanager
        def manager():
            pause()
            yield
            pause()

        with manager():
            pause()

    def through_formats():
        class Shown:
            def __format__(self, how):
                pause()
                return how

        return f"""{1}
        {Shown():>10}
        {pause()}"""

    def through_super():
        class Base:
            def __init_subclass__(cls):
                pause()

            def method(self, *, keyword):
                pause()

        class Derived(Base):
            def method(self, **keywords):
                super().method(**keywords)

        Derived().method(keyword=1)

    def größe_der_日本_𐌰():
        pause()

    return [
        through_yield_from, through_coroutines, through_async_generators, through_contextlib, through_formats, through_super,
        größe_der_日本_𐌰,
    ]
