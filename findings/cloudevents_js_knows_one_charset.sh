#!/bin/bash
# cloudevents 10.0.0 (JavaScript): a structured event is read if its media type has "charset=utf-8", and refused if it has
# "charset=UTF-8".
#
# The names of charsets ignore letter case (RFC 9110, 8.3.2), and the format that CloudEvents defines needs none, as it is
# JSON. A sender that wants to be read by every SDK sends "application/cloudevents+json" and nothing behind it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > npm.log 2>&1
npm install --silent --no-audit --no-fund cloudevents@10.0.0 >> npm.log 2>&1

cat > read.js <<'JAVASCRIPT'
const { HTTP } = require('cloudevents');

const body = JSON.stringify({ specversion: '1.0', id: '1', source: '/s', type: 't', data: { power: 'on' } });
for (const parameter of ['', '; charset=utf-8', '; charset=UTF-8', '; charset="utf-8"']) {
  const type = `application/cloudevents+json${parameter}`;
  try {
    console.log(`${type}: ${JSON.stringify(HTTP.toEvent({ headers: { 'content-type': type }, body }).data)}`);
  } catch (error) {
    console.log(`${type}: ${error.name}`);
  }
}
JAVASCRIPT

cat > expected <<'TEXT'
application/cloudevents+json: {"power":"on"}
application/cloudevents+json; charset=utf-8: {"power":"on"}
application/cloudevents+json; charset=UTF-8: TypeError
application/cloudevents+json; charset="utf-8": TypeError
TEXT
node read.js > seen
cat seen
diff expected seen
