import { hostname } from 'node:os';
import { ensureHome } from '@palyra/config';
import type { JoinInput, JoinProgress, JoinTarget } from '@palyra/identity';
import { Secret, secureRandomBytes, systemClock, visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { findJoined, writeJoined } from '../device-files.ts';
import { findHome } from '../find-home.ts';
import { readStdin } from '../read-stdin.ts';

type IdentityModule = typeof import('@palyra/identity');

/** The new device's side of pairing. Its key is made here and stays here. */
export const deviceJoin: CommandDefinition = {
  name: 'device join',
  group: 'Identity',
  summary: 'Join a home that invited this device',
  details:
    'Asks for the PIN that "palyra device pair" shows, or takes its join URL, which needs none. Neither belongs into ' +
    'the command line, where others can see it: they are asked for, or read from standard input (with "-", first the ' +
    'URL or the address, then the PIN, a line each). Key, certificate and CA are kept below identity/joined in the home.',
  arguments: [{ name: 'ADDRESS', summary: 'HOST:PORT; - is standard input, asked for if absent', isRequired: false }],
  options: [
    { flags: '--name <NAME>', summary: 'What this device calls itself; its host name' },
    { flags: '--invitation <ID>', summary: 'Which invitation, where there are several' },
    { flags: '--again', summary: 'Join anew, though this device has joined before' },
  ],
  async run({ arguments: [typed], options }, context) {
    const { home, environment } = findHome(context);
    const identity = await import('@palyra/identity');
    refuseSecret(typed);
    ensureHome(home);
    const files = findJoined(home.identity, { again: options['again'] === true });
    const answers = createAnswers(context);
    const target = identity.parseJoinTarget(
      typed === undefined || typed === '-' ? await answers.next('Join URL or HOST:PORT: ', '#') : typed,
    );
    const input: JoinInput = {
      ...(await proofOf(target, answers, identity)),
      name: ownName(options['name'], identity),
      ...invitationOf(target, options['invitation']),
      ...(target.ca === undefined ? {} : { ca: target.ca }),
      ...(files.device === undefined ? {} : { device: files.device }),
    };
    const joined = await identity.joinDevice(target.address, input, {
      clock: systemClock,
      randomBytes: secureRandomBytes,
      deadlines: identity.DEADLINES,
      makeRequest: identity.makeRequest,
      onProgress: (event) => context.terminal?.progress(sentenceOf(event, identity)),
    });
    writeJoined(files, joined);
    const { device, kind, name, ca } = joined;
    return {
      json: { device, kind, name, ca, directory: files.directory, warnings: environment.warnings },
      render: () =>
        `Joined as ${identity.shownName(name)} (${kind}): ${device}\nIts CA: ${ca}\nKept in ${visibleText(files.directory)}\n`,
      warnings: environment.warnings,
    };
  },
};

function refuseSecret(typed: string | undefined): void {
  // SECURITY: T-24 — an argument is in the process list and in the shell's history, and this one lets anybody join.
  if (typed?.includes('#') !== true) return;
  throw new CliError('cli.secret_in_arguments', 'The join URL holds a secret and is not taken from the command line.', {
    fix: 'Run "palyra device join" and paste it, or give it on standard input: palyra device join - < FILE',
  });
}

interface Answers {
  /** What a person types, or the next line of standard input. On the screen nothing of it is seen, or what comes before the mark. */
  next(question: string, shownUntil?: string): Promise<string>;
}

function createAnswers(context: CommandContext): Answers {
  let lines: string[] | undefined;
  return {
    async next(question, shownUntil) {
      const { terminal } = context;
      const isTyped = terminal !== undefined && Object(context.openStdin()).isTTY === true;
      if (isTyped) return (await terminal.askHidden(question, shownUntil)).trim();
      lines ??= Buffer.from(await readStdin(context))
        .toString('utf8')
        .split(/\r?\n/);
      return (lines.shift() ?? '').trim();
    },
  };
}

/** The code of the URL, or a PIN as people write it: with blanks or a dash in the middle. */
async function proofOf(
  target: JoinTarget,
  answers: Answers,
  { PairingError }: IdentityModule,
): Promise<Pick<JoinInput, 'means' | 'secret'>> {
  if (target.code !== undefined) return { means: 'code', secret: target.code };
  const pin = (await answers.next('PIN: ')).replaceAll(/[ -]/g, '');
  if (/^\d{8}$/.test(pin)) return { means: 'pin', secret: new Secret(pin) };
  throw new PairingError('pairing.invalid_secret', 'A PIN has eight digits.', {
    fix: 'Type the one that "palyra device pair" shows on the other side.',
  });
}

function ownName(typed: unknown, { checkDeviceName }: IdentityModule): string {
  if (typeof typed === 'string') return checkDeviceName(typed);
  try {
    return checkDeviceName(hostname());
  } catch {
    // Hosts may be called what no device may.
    return 'device';
  }
}

function invitationOf(target: JoinTarget, typed: unknown): Pick<JoinInput, 'invitation'> {
  if (typeof typed === 'string') return { invitation: typed };
  return target.invitation === undefined ? {} : { invitation: target.invitation };
}

function sentenceOf(event: JoinProgress, { shownName }: IdentityModule): string {
  switch (event.kind) {
    case 'connected':
      return 'Connected; proving the PIN or the code.';
    case 'proven':
      return `Proven on both sides: this device becomes ${shownName(event.name)} (${event.deviceKind}).`;
    case 'asking':
      return 'The operator is asked to confirm.';
    case 'issued':
      return `The certificate for ${event.device} is here.`;
  }
}
