-- Once, as a superuser: psql -f database-users-postgresql.sql

CREATE ROLE baremetal_migrate LOGIN PASSWORD 'change me';
CREATE ROLE baremetal_api LOGIN PASSWORD 'change me';
CREATE ROLE baremetal_conductor LOGIN PASSWORD 'change me';

-- Owns the database and its tables, and is used by "baremetal-sched db upgrade" and nothing else.
CREATE DATABASE baremetal_sched OWNER baremetal_migrate ENCODING 'UTF8' TEMPLATE template0;
