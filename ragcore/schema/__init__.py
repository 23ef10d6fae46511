"""The data types of ragcore: documents, passages, questions, messages, answers.

Documents, nodes and hits are mutable. No function of ragcore edits its arguments. Stores, indexes and caches
copy what they store and what they return. All other types here are frozen.
"""

from ragcore.schema.components import (
    Fields,
    TransformComponent,
)
from ragcore.schema.links import (
    NodeRelationship,
    ObjectType,
    RelatedNodeInfo,
)
from ragcore.schema.messages import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    MessageRole,
    Outcome,
    PydanticResponse,
    QueryBundle,
    QueryType,
    Response,
    StreamingResponse,
    as_bundle,
    outcome_of,
)
from ragcore.schema.nodes import (
    PLAIN,
    BaseNode,
    Document,
    IndexNode,
    Metadata,
    MetadataMode,
    Node,
    NodeWithScore,
    Page,
    Scalar,
    Template,
    TextNode,
    Value,
    Vector,
    Vectors,
    content_hash,
    new_id,
)
