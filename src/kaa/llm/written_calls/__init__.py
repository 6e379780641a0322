"""Tool calls that servers leave in the text of a reply, as models that were trained on some notation write them."""
