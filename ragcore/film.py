"""How an answer was made, as a drawing needs it: the steps of its trace, and the shape that its way of answering gives them."""
