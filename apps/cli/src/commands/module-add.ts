import { readFile } from 'node:fs/promises';
import { addModule, ensureHome, MODULE_LIMITS, type ModuleLimitName, type NewModule } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition, CommandInput } from '../command.ts';
import { findHome } from '../find-home.ts';

const FLAGS = ['now', 'random', 'kv', 'emit'] as const;

/** Which bytes may run, what they may reach, and how much: the operator's word, kept beside the module. */
export const moduleAdd: CommandDefinition = {
  name: 'module add',
  group: 'Agents',
  summary: 'Install a WebAssembly module and its grants',
  details:
    'Agents call it with palyra.wasm.run. It reaches what is granted here and nothing else; --grant may be given ' +
    'several times: now, random, kv, emit, http=HOST:PORT, secret=NAME (used on requests to such a host, never seen), ' +
    'env=NAME=VALUE, files=/PATH (what is in files beside it, to read), scratch=/PATH (to write, gone when the call ends). ' +
    'Limits only lower those of [wasm_runtime].',
  arguments: [
    { name: 'NAME', summary: 'What agents call it by', isRequired: true },
    { name: 'FILE', summary: 'The module, as a compiler made it', isRequired: true },
  ],
  options: [
    { flags: '--grant <WHAT>', summary: 'What it may reach, besides nothing', isRepeatable: true },
    { flags: '--limit <NAME=N>', summary: 'Less than the usual, such as wall_ms=500', isRepeatable: true },
    { flags: '--description <TEXT>', summary: 'What it is for' },
    { flags: '--replace', summary: 'Also when there is one of that name' },
  ],
  async run({ arguments: [name = '', file = ''], options }, context) {
    const { home } = findHome(context);
    const bytes = await readFile(file).catch((cause: unknown) => {
      throw new CliError('cli.invalid_option', `${visibleText(file)} cannot be read.`, {
        fix: 'Check the path.',
        cause,
      });
    });
    requireModule(bytes);
    ensureHome(home);
    const module: NewModule = {
      name,
      bytes,
      description: typeof options['description'] === 'string' ? options['description'] : '',
      grants: grantsOf(options['grant']),
      limits: limitsOf(options['limit']),
    };
    const manifest = await addModule(home.modules, module, { replace: options['replace'] === true });
    return {
      json: { module: name, ...manifest },
      render: () =>
        `Installed ${visibleText(name)} (${manifest.sha256.slice(0, 12)}). Call it: palyra tool call palyra.wasm.run --input '{"module":"${visibleText(name)}"}'\n`,
    };
  },
};

const MAGIC = Buffer.from([0x00, 0x61, 0x73, 0x6d]);
const CORE = Buffer.from([0x01, 0x00, 0x00, 0x00]);

function requireModule(bytes: Buffer): void {
  const isWasm = bytes.subarray(0, 4).equals(MAGIC);
  if (isWasm && bytes.subarray(4, 8).equals(CORE)) return;
  throw new CliError(
    'cli.invalid_option',
    isWasm ? 'It is a component, or of another version.' : 'It is no WebAssembly.',
    {
      fix: 'Give a core module: components of the component model do not run here yet.',
    },
  );
}

function grantsOf(given: unknown): NewModule['grants'] {
  const grants: { -readonly [Name in keyof NewModule['grants']]: NewModule['grants'][Name] } = {};
  for (const text of listOf(given)) {
    const [what = '', ...rest] = text.split('=');
    const value = rest.join('=');
    const flag = FLAGS.find((each) => each === what);
    if (flag !== undefined && rest.length === 0) grants[flag] = true;
    else if (what === 'http' && value !== '') grants.http = [...(grants.http ?? []), value];
    else if (what === 'secret' && value !== '') grants.secrets = [...(grants.secrets ?? []), value];
    else if (what === 'env' && value.includes('=')) grants.environment = { ...grants.environment, ...variable(value) };
    else if (what === 'files' && value !== '') grants.files = value;
    else if (what === 'scratch' && value !== '') grants.scratch = [...(grants.scratch ?? []), value];
    else throw unknownGrant(text);
  }
  if (grants.secrets !== undefined && grants.http === undefined) throw secretWithoutHost();
  return grants;
}

function variable(text: string): Record<string, string> {
  const at = text.indexOf('=');
  return { [text.slice(0, at)]: text.slice(at + 1) };
}

function limitsOf(given: unknown): NewModule['limits'] {
  const limits: Partial<Record<ModuleLimitName, number>> = {};
  for (const text of listOf(given)) {
    const [name, value = ''] = text.split('=');
    const limit = MODULE_LIMITS.find((each) => each === name);
    if (limit === undefined || !/^[0-9]{1,15}$/.test(value)) {
      throw new CliError('cli.invalid_option', `${visibleText(text)} is no limit.`, {
        fix: `Write NAME=NUMBER, where NAME is one of ${MODULE_LIMITS.join(', ')}.`,
      });
    }
    limits[limit] = Number(value);
  }
  return limits;
}

function listOf(given: CommandInput['options'][string]): readonly string[] {
  return Array.isArray(given) ? given.map(String) : [];
}

function secretWithoutHost(): CliError {
  return new CliError('cli.invalid_option', 'A secret goes to a host, and none is granted.', {
    fix: 'Add --grant http=HOST:PORT for the host that it is bound to.',
  });
}

function unknownGrant(text: string): CliError {
  return new CliError('cli.invalid_option', `${visibleText(text)} is nothing that can be granted.`, {
    fix: 'Grants are now, random, kv, emit, http=HOST:PORT, secret=NAME, env=NAME=VALUE, files=/PATH and scratch=/PATH.',
  });
}
