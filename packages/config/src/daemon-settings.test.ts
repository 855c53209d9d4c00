import { reveal } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { parseConfig } from './parse-config.ts';

test('palyrad listens on loopback only, unless told', () => {
  const { daemon, limits } = parseConfig('', 'x').config;
  expect(daemon).toEqual({
    listen: '127.0.0.1:0',
    allow_remote: false,
    token_listen: '',
    console: '',
    pairing_listen: '127.0.0.1:0',
    idle_minutes: 30,
    shutdown_seconds: 10,
  });
  expect(limits).toEqual({
    message_bytes: 4_194_304,
    requests_per_second: 5_000,
    streams_per_principal: 2_048,
    streams_per_connection: 1_024,
    connections: 4_096,
    connections_per_address: 2_048,
    request_seconds: 30,
  });
});

test.each(['127.0.0.1:0', 'localhost:8443', '[::1]:65535', '0.0.0.0:443'])('%s is a place to listen on', (listen) => {
  expect(parseConfig(`[daemon]\nlisten = "${listen}"`, 'x').config.daemon.listen).toBe(listen);
});

test.each(['', '8443', ':8443', '127.0.0.1', '127.0.0.1:080', '/run/palyra.sock', 'a b:1'])('%j is none', (listen) => {
  expect(() => parseConfig(`[daemon]\nlisten = "${listen}"`, 'x')).toThrow(
    expect.objectContaining({ code: 'config.invalid_value' }),
  );
});

test('an address for traces may hold a password, and is kept as one', () => {
  const { telemetry } = parseConfig('[telemetry]\ntraces_url = "http://u:pw@127.0.0.1:4318/v1/traces"', 'x').config;
  expect(String(telemetry.traces_url)).not.toContain('pw');
  expect(telemetry.traces_url === undefined ? '' : reveal(telemetry.traces_url)).toContain('u:pw@');
  expect(() => parseConfig('[telemetry]\ntraces_url = "ftp://x"', 'x')).toThrow(
    expect.objectContaining({ code: 'config.invalid_value' }),
  );
});
