"""SQLite behind one writer; slow work as jobs in a table."""
