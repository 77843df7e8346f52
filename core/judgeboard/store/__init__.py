"""The one database: tables, engine, migrations, and one module of queries per noun."""
