#!/bin/bash
# pkgcloud 2.2.0: when Nova answers an action with 501, the callback gets no error.
#
# Statuses that are in neither of its two lists count as success; 501 is such a one, and 400 is an error. A service that
# does not implement an action should answer this client with 400.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > npm.log 2>&1
npm install --silent --no-audit --no-fund pkgcloud@2.2.0 >> npm.log 2>&1

cat > resize.js <<'JAVASCRIPT'
const http = require('http');
const pkgcloud = require('pkgcloud');

// Keystone's v3 and Nova, as far as the client asks; Nova answers actions with the status that is in turn.
let status;
const server = http.createServer((request, response) => {
  const here = `http://127.0.0.1:${server.address().port}`;
  const send = (code, document, headers = {}) => {
    response.writeHead(code, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(document));
  };
  request.resume();
  if (request.url.startsWith('/v3/auth/tokens')) {
    const endpoint = { interface: 'public', region: 'r', region_id: 'r', url: `${here}/compute/v2.1`, id: 'e' };
    const catalog = [{ type: 'compute', name: 'nova', id: 'c', endpoints: [endpoint] }];
    const token = { catalog, expires_at: '2099-01-01T00:00:00Z', issued_at: '2024-01-01T00:00:00Z',
      project: { id: 'p', name: 'p' }, user: { id: 'u', name: 'u' }, methods: ['password'], roles: [] };
    send(201, { token }, { 'X-Subject-Token': 't' });
  } else {
    send(status, { fault: { code: status, message: 'not implemented' } });
  }
});

server.listen(0, '127.0.0.1', () => {
  const client = pkgcloud.compute.createClient({
    provider: 'openstack', keystoneAuthVersion: 'v3', authUrl: `http://127.0.0.1:${server.address().port}`,
    username: 'u', password: 'p', domainId: 'default', tenantId: 'p', region: 'r',
  });
  const ask = (statuses) => {
    if (!statuses.length) {
      server.close();
      process.exit(0);
    }
    [status] = statuses;
    client.resizeServer('11111111-1111-4111-8111-111111111111', '2', (error) => {
      console.log(`${status}: ${error ? `error ${error.statusCode || error.message}` : 'no error'}`);
      ask(statuses.slice(1));
    });
  };
  ask([202, 400, 409, 501]);
});
JAVASCRIPT

cat > expected <<'TEXT'
202: no error
400: error 400
409: error 409
501: no error
TEXT
node --no-deprecation resize.js > seen
cat seen
diff expected seen
