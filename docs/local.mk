dist_doc_DATA += docs/ARCHITECTURE.md docs/results-format.md
