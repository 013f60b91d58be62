"""Pending changes of entities."""

from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm.attributes import History
from sqlalchemy.orm.base import PASSIVE_NO_INITIALIZE


def history_of(entity: Any, name: str) -> History:
    """Return the history of one attribute, without reading anything.

    ``inspect(entity).attrs`` would create an object for every attribute.
    """
    history: History = inspect(entity).get_history(name, PASSIVE_NO_INITIALIZE)
    return history
