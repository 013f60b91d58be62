-- As root (mariadb < database-users-mariadb.sql): first the users, once.
-- Run what is below GRANTS again after every "baremetal-sched db upgrade", before processes of the new release start.

CREATE USER 'baremetal_migrate'@'%' IDENTIFIED BY 'change me';
CREATE USER 'baremetal_api'@'%' IDENTIFIED BY 'change me';
CREATE USER 'baremetal_conductor'@'%' IDENTIFIED BY 'change me';

-- Makes tables, and is used by "baremetal-sched db upgrade" and nothing else.
GRANT ALL PRIVILEGES ON baremetal_sched.* TO 'baremetal_migrate'@'%';

-- GRANTS

GRANT SELECT ON baremetal_sched.* TO 'baremetal_api'@'%';
GRANT SELECT ON baremetal_sched.* TO 'baremetal_conductor'@'%';

GRANT INSERT, UPDATE, DELETE ON baremetal_sched.aggregates TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.allocations TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.chassis TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.consumers TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.deploy_templates TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.driver_calls TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.flavor_projects TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.flavors TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.image_members TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.image_properties TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.image_tags TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.images TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.inspection_rules TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.inventories TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.keypairs TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_allocations TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_history TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_traits TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_work TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.nodes TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.portgroups TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.ports TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.provider_aggregates TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.provider_traits TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.resource_classes TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.resource_providers TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.runbook_traits TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.runbooks TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.server_actions TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.server_tags TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.servers TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.traits TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.volume_connectors TO 'baremetal_api'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.volume_targets TO 'baremetal_api'@'%';

GRANT INSERT, UPDATE, DELETE ON baremetal_sched.allocations TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.bios_settings TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.conductor_hardware_types TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.conductor_interfaces TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.conductors TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.consumers TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.driver_calls TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.firmware_components TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.inventories TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_allocations TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_history TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_inventories TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_traits TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.node_work TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.nodes TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.portgroups TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.ports TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.provider_traits TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.resource_classes TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.resource_providers TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.server_actions TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.servers TO 'baremetal_conductor'@'%';
GRANT INSERT, UPDATE, DELETE ON baremetal_sched.traits TO 'baremetal_conductor'@'%';
