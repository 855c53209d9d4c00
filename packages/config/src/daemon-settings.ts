import { Secret, type SecretText } from '@palyra/primitives';
import { z } from 'zod';
import { listed, section } from './section.ts';

/** The sections that only palyrad reads. */
export interface DaemonSettings {
  readonly daemon: {
    readonly listen: string;
    readonly allow_remote: boolean;
    readonly token_listen: string;
    readonly console: string;
    readonly pairing_listen: string;
    readonly idle_minutes: number;
    readonly shutdown_seconds: number;
  };
  readonly limits: {
    readonly message_bytes: number;
    readonly requests_per_second: number;
    readonly streams_per_principal: number;
    readonly streams_per_connection: number;
    readonly connections: number;
    readonly connections_per_address: number;
    readonly request_seconds: number;
  };
  readonly egress: {
    readonly unlisted: Unlisted;
    readonly private_ranges: string;
    readonly registries: string;
    readonly hosts: string;
    readonly authorities: string;
    readonly connections: number;
    readonly megabytes_in: number;
    readonly megabytes_out: number;
  };
  readonly telemetry: {
    /** Secret, because it may hold a password. */
    readonly traces_url: SecretText | undefined;
  };
}

const UNLISTED = ['ask', 'deny'] as const;
export type Unlisted = (typeof UNLISTED)[number];

export const daemonSections: { readonly [Name in keyof DaemonSettings]: z.ZodType<DaemonSettings[Name]> } = {
  daemon: section('Where palyrad listens, and when it ends.', {
    listen: place('127.0.0.1:0', 'HOST:PORT').describe(
      'Where the API listens, with TLS and certificates both ways. Port 0: any that is free; clients find it in ' +
        '`palyrad.json` in the home.',
    ),
    allow_remote: z
      .boolean()
      .default(false)
      .describe(
        'Whether palyrad may listen where other hosts reach it. Without it, only loopback addresses are taken.',
      ),
    token_listen: place('', '"" or HOST:PORT').describe(
      'Where clients are served that have a token and no certificate, over TLS, on a loopback address. Empty: nowhere.',
    ),
    console: place('', '"" or HOST:PORT').describe(
      'Where the web console is served, on a loopback address. Empty: nowhere.',
    ),
    pairing_listen: place('127.0.0.1:0', 'HOST:PORT').describe(
      'Where devices that were invited join; it is open only while an invitation is.',
    ),
    idle_minutes: z
      .number()
      .min(0.01)
      .max(10_080)
      .default(30)
      .describe('How long, in minutes, a palyrad that was started on demand stays when nobody uses it.'),
    shutdown_seconds: z
      .int()
      .min(0)
      .max(3_600)
      .default(10)
      .describe('How long, in seconds, commands that run may take to end when palyrad ends; then they are cancelled.'),
  }),
  limits: section('How much one caller may take of palyrad.', {
    message_bytes: z
      .int()
      .min(65_536)
      .max(67_108_864)
      .default(4_194_304)
      .describe('The largest message, in bytes, in either direction.'),
    requests_per_second: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(5_000)
      .describe('How many calls of the API one principal may make in a second; messages on a stream count, and wait.'),
    streams_per_principal: z
      .int()
      .min(1)
      .max(100_000)
      .default(2_048)
      .describe('How many calls of the API one principal may have open at a time.'),
    streams_per_connection: z
      .int()
      .min(1)
      .max(100_000)
      .default(1_024)
      .describe('How many of them one connection may have open at a time.'),
    connections: z.int().min(1).max(100_000).default(4_096).describe('How many connections a listener has at a time.'),
    connections_per_address: z
      .int()
      .min(1)
      .max(100_000)
      .default(2_048)
      .describe('How many of them may come from one address; loopback is one.'),
    request_seconds: z
      .int()
      .min(1)
      .max(3_600)
      .default(30)
      .describe('How long, in seconds, a request may take to arrive; streams of messages are no requests.'),
  }),
  egress: section('What commands in the box, and palyrad for them, may connect to.', {
    unlisted: z
      .enum(UNLISTED)
      .default('ask')
      .describe(
        'What becomes of a connection to a host that a call did not name. `ask`: policy decides, and where it asks, the ' +
          'connection is held while a human is asked; `deny` where nobody is there to answer (`approvals.unattended`). ' +
          '`deny`: it is refused.',
      ),
    private_ranges: listed('networks and addresses, such as "10.0.0.0/8, 127.0.0.1:8080"').describe(
      'Private networks, and loopback addresses with their port, that may be connected to all the same. Without it no ' +
        'private, loopback or link-local address is; one for the metadata of a cloud only when it is named with its port.',
    ),
    registries: listed('HOST:PORT, HOST:PORT').describe(
      'Package registries, which are one question together, once for each workspace.',
    ),
    hosts: listed('NAME=ADDRESS, NAME=ADDRESS').describe(
      'Names that the proxy does not look up, as in a hosts file. The address is checked like any other.',
    ),
    authorities: z
      .string()
      .default('')
      .describe(
        'A file with certificates (PEM) of authorities that the proxy trusts beside the system’s. Empty: none.',
      ),
    connections: z
      .int()
      .min(1)
      .max(4_096)
      .default(256)
      .describe('How many connections a call may have open at a time.'),
    megabytes_in: z.int().min(1).max(1_048_576).default(8_192).describe('How much, in MiB, a call may receive.'),
    megabytes_out: z.int().min(1).max(1_048_576).default(2_048).describe('How much, in MiB, a call may send.'),
  }),
  telemetry: section('What palyrad tells other programs about how it works; never what calls say.', {
    traces_url: z
      .string()
      .refine(isTracesUrl)
      .transform((url) => (url === '' ? undefined : new Secret(url)))
      .prefault('')
      .meta({
        expects: '"" or an http:// or https:// address',
        secret: true,
        description:
          'Where spans are sent, as OTLP over HTTP in JSON, such as `http://127.0.0.1:4318/v1/traces`. Empty: nowhere.',
      }),
  }),
};

/** `HOST:PORT`, or nothing where that is the default. */
function place(standard: string, expects: string): z.ZodDefault<z.ZodString> {
  const isPlace = (text: string) => (text === '' && standard === '') || PLACE.test(text);
  return z.string().refine(isPlace).meta({ expects }).default(standard);
}

const PLACE = /^(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+):(?:0|[1-9][0-9]{0,4})$/;

function isTracesUrl(text: string): boolean {
  return text === '' || (/^https?:\/\//.test(text) && URL.canParse(text));
}
