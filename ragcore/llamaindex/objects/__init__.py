"""Indexes of objects, such as tools."""

from ragcore.llamaindex.objects.base import (
    ObjectIndex,
    ObjectRetriever,
    SimpleObjectNodeMapping,
    SimpleToolNodeMapping,
)
