-- Entries of stores without terms, by the directories below a store.
CREATE INDEX file_entry_without_terms ON {schema}.file (directory, created) WHERE coverage IS NULL AND name LIKE '%.md';
