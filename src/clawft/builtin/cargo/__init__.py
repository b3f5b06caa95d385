"""The cargo family. Its tools are in `tools`; `runner` is its row among the builders of declared tasks."""
