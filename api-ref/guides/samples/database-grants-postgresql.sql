-- After every "baremetal-sched db upgrade", before processes of the new release start. As a superuser:
-- psql -d baremetal_sched -f database-grants-postgresql.sql

REVOKE ALL ON DATABASE baremetal_sched FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO baremetal_migrate;

GRANT CONNECT ON DATABASE baremetal_sched TO baremetal_api, baremetal_conductor;
GRANT USAGE ON SCHEMA public TO baremetal_api, baremetal_conductor;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO baremetal_api, baremetal_conductor;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO baremetal_api, baremetal_conductor;

GRANT INSERT, UPDATE, DELETE ON
    aggregates, allocations, booked_machines, booking_locks, bookings, chassis, claim_ends, consumers, deploy_templates, domain_members, domains, driver_calls, event_notes,
    flavor_projects,
    flavors, group_members, holds, image_members, image_properties, image_tags, images, inspection_rules, inventories, keypairs,
    machine_groups, node_allocations, node_history, node_traits, node_work, nodes, page_sessions, pending_claims, portgroups, ports,
    provider_aggregates, provider_traits, resource_classes, resource_providers, runbook_traits, runbooks, server_actions,
    server_group_members, server_groups, server_tags, servers, traits, volume_connectors, volume_targets, webhook_tests, webhooks
    TO baremetal_api;

GRANT INSERT, UPDATE, DELETE ON
    aggregates, allocations, bios_settings, booked_machines, booking_locks, bookings, capacity_samples, claim_ends, conductor_hardware_types, conductor_interfaces, conductors, consumers,
    driver_calls, event_notes, event_projects, event_stream, events, firmware_components, group_members, holds, inventories, machine_groups, node_allocations, node_history, node_inventories,
    node_traits, node_work, nodes, page_sessions, pending_claims, portgroups, ports, provider_aggregates, provider_traits, resource_classes, resource_providers,
    server_actions, server_groups, servers, traits, webhook_tests, webhooks
    TO baremetal_conductor;
