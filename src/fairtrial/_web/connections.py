"""Connections that ask for nothing are ended, so that they keep nobody else out."""

from __future__ import annotations

from typing import Any

MOST_CONNECTIONS = 500
HEAD_SECONDS = 20.0


def patient_protocol(seconds: float = HEAD_SECONDS) -> type[Any]:
    """uvicorn's own protocol, which by itself waits for the head of a request without end."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(seconds, self._end_if_silent, None)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self._waits(before):  # for the rest of a request's head
                self.loop.call_later(seconds, self._end_if_silent, before)

        def _waits(self, before: Any) -> bool:
            return self.cycle is before and (before is None or before.response_complete)

        def _end_if_silent(self, before: Any) -> None:
            if self._waits(before) and not self.transport.is_closing():
                self.transport.close()

    return Patient
