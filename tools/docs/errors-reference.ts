import { AGENTS_ERRORS } from '@palyra/agents';
import { APPROVAL_ERRORS, APPROVAL_REFUSALS } from '@palyra/approvals';
import { CLIENT_ERRORS } from '@palyra/client';
import { CONFIG_ERRORS } from '@palyra/config';
import { EGRESS_DENIALS, EGRESS_ERRORS } from '@palyra/egress';
import { GATEWAY_ERRORS, WASM_OUTCOMES } from '@palyra/gateway';
import { IDENTITY_ERRORS, IDENTITY_REFUSALS, PAIRING_ERRORS } from '@palyra/identity';
import { JOURNAL_ERRORS } from '@palyra/journal';
import { POLICY_ERRORS } from '@palyra/policy';
import { PRIMITIVES_ERRORS } from '@palyra/primitives';
import { SANDBOX_ERRORS } from '@palyra/sandbox';
import { STORAGE_ERRORS } from '@palyra/storage';
import { WASM_ERRORS } from '@palyra/wasm';
import { CLI_ERRORS } from '../../apps/cli/src/cli-error.ts';
import { DAEMON_ERRORS } from '../../apps/daemon/src/daemon-error.ts';
import { exitCodeOfCode } from '../../packages/agents/src/exits/exit-codes.ts';

/** Where a reader would look for a code, and what all of its kind have in common. */
const TABLES: readonly (readonly [title: string, about: string, codes: Readonly<Record<string, string>>])[] = [
  ['The command line', 'Of `palyra` itself.', CLI_ERRORS],
  ['The SDK', 'Of the connection to palyrad; every other code comes from palyrad unchanged.', CLIENT_ERRORS],
  ['palyrad', 'Of its listeners, before anything else looks at a message.', DAEMON_ERRORS],
  ['Agents', 'Of their hooks and settings.', AGENTS_ERRORS],
  ['Tool calls', 'Of runs and calls.', GATEWAY_ERRORS],
  ['Questions and answers', 'Of approvals.', APPROVAL_ERRORS],
  [
    'Answers that do not count',
    'Why an answer or a standing approval is not taken.',
    prefixed('approvals', APPROVAL_REFUSALS),
  ],
  ['The sandbox', 'Of commands.', SANDBOX_ERRORS],
  ['Hosts and the proxy', 'Of rules about hosts, and of the way out.', EGRESS_ERRORS],
  ['Connections that are not made', 'What a tool is told, and what is recorded.', EGRESS_DENIALS],
  ['Policies', 'Of Cedar files and requests.', POLICY_ERRORS],
  ['The journal', 'Of the signed record.', JOURNAL_ERRORS],
  ['Identity', 'Of certificates, devices and tokens.', IDENTITY_ERRORS],
  ['Connections that are not admitted', 'What a peer is told.', prefixed('identity', IDENTITY_REFUSALS)],
  ['Pairing', 'Of devices that join.', PAIRING_ERRORS],
  ['Settings', 'Of palyra.toml.', CONFIG_ERRORS],
  ['Storage', 'Of the database.', STORAGE_ERRORS],
  ['WebAssembly', 'Of modules.', WASM_ERRORS],
  ['Calls of WebAssembly modules', 'Of `palyra.wasm.run`.', WASM_OUTCOMES],
  ['Values', 'Of ids, JSON and texts.', PRIMITIVES_ERRORS],
];

/** docs/reference/errors.md, from the tables of codes alone. */
export function renderErrorsReference(): string {
  return [INTRODUCTION, ...TABLES.map(renderTable)].join('\n\n').concat('\n');
}

const INTRODUCTION = `<!-- Generated from the packages' tables of codes by \`npm run docs\`; do not edit. -->

# Error codes

Codes are for programs and never change their meaning. They are the same on the command line (\`error[code]: …\`), in
\`--json\`, in the \`ErrorDetail\` of every API error, in the SDK’s \`ClientError.code\` and in a call’s \`outcome.code\`. The last
column is how \`palyra\` exits with it ([cli.md](cli.md)); \`exec\` adds 240.`;

function renderTable([title, about, codes]: (typeof TABLES)[number]): string {
  const rows = Object.entries(codes)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([code, meaning]) => `| \`${code}\` | ${meaning.replaceAll('|', '\\|')} | ${exitCodeOfCode(code)} |`);
  return [`## ${title}`, about, ['| Code | Meaning | Exit |', '|---|---|---|', ...rows].join('\n')].join('\n\n');
}

function prefixed(name: string, codes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(codes).map(([code, meaning]) => [`${name}.${code}`, meaning]));
}
