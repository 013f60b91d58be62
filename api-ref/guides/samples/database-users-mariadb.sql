-- Once, as root: mariadb < database-users-mariadb.sql

CREATE DATABASE baremetal_sched CHARACTER SET utf8mb4;

CREATE USER 'baremetal_migrate'@'%' IDENTIFIED BY 'change me';
CREATE USER 'baremetal_api'@'%' IDENTIFIED BY 'change me';
CREATE USER 'baremetal_conductor'@'%' IDENTIFIED BY 'change me';

-- Makes tables, and is used by "baremetal-sched db upgrade" and nothing else.
GRANT ALL PRIVILEGES ON baremetal_sched.* TO 'baremetal_migrate'@'%';
