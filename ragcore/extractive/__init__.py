"""The answerer without a language model: it quotes the sentences that answer."""
