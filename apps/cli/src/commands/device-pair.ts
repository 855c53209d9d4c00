import { networkInterfaces } from 'node:os';
import type {
  ConfirmPairing,
  HostProgress,
  InvitationEnd,
  InvitationTerms,
  NewInvitation,
  PairingListener,
  PairingPlace,
  PairingRequest,
} from '@palyra/identity';
import { parseId, reveal, secureRandomBytes, systemClock } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition, CommandResult, Terminal } from '../command.ts';
import { createEventLines } from '../event-lines.ts';
import { type OpenPairingIssuer, openPairingIssuer, type PairingIssuer } from '../pairing-issuer.ts';
import { qrCodeOf } from '../render/qr-code.ts';

type IdentityModule = typeof import('@palyra/identity');

/** Hosts the pairing listener in the foreground, for as long as one invitation lives. */
export function createDevicePair(openIssuer: OpenPairingIssuer): CommandDefinition {
  return {
    name: 'device pair',
    group: 'Identity',
    summary: 'Invite one device, by PIN or QR code',
    details:
      'Shows a PIN and a QR code that are good for one device, ten minutes and five tries. On the device, run ' +
      '"palyra device join ADDRESS". You see its name, kind and address, and confirm. Pairing gives a device an ' +
      'identity, not a right to do anything: policies do. Without a terminal, --yes confirms whoever proves the PIN, ' +
      'and what happens is printed as one JSON document a line.',
    options: [
      { flags: '--kind <KIND>', summary: 'operator, agent, node or service' },
      { flags: '--name <NAME>', summary: 'What the device is called here' },
      { flags: '--principal <NAME>', summary: 'Whose it is, such as user:bob' },
      { flags: '--replace <ID>', summary: 'The known device whose key it replaces' },
      { flags: '--listen <ADDRESS>', summary: 'HOST:PORT to listen on; all addresses, any port' },
      { flags: '--address <HOST>', summary: 'How the device reaches this host, for the QR code' },
      { flags: '--yes', summary: 'Confirm whoever proves the PIN or the code' },
    ],
    async run({ options }, context) {
      const identity = await import('@palyra/identity');
      const plan = planOf(options, context, identity);
      const issuer = await openIssuer(context, plan.principal);
      return context.terminal === undefined
        ? hostForProgram(plan, { issuer, identity, context })
        : hostForPerson(plan, context.terminal, { issuer, identity, context });
    },
  };
}

export const devicePair: CommandDefinition = createDevicePair(openPairingIssuer);

interface Plan {
  readonly terms: InvitationTerms;
  readonly place: PairingPlace;
  readonly address: string;
  /** Whose it shall be, if that was said. */
  readonly principal: string | undefined;
  readonly isConfirmed: boolean;
}

interface Means {
  readonly issuer: PairingIssuer;
  readonly identity: IdentityModule;
  readonly context: CommandContext;
}

function planOf(options: Readonly<Record<string, unknown>>, context: CommandContext, identity: IdentityModule): Plan {
  const { kind, name, principal, replace, listen, address, yes } = options;
  const found = identity.DEVICE_KINDS.find((candidate) => candidate === kind);
  if (found === undefined || typeof name !== 'string') {
    throw new CliError('cli.missing_value', 'A device needs a kind and a name: --kind KIND --name NAME.', {
      fix: `The kinds are ${identity.DEVICE_KINDS.join(', ')}.`,
    });
  }
  if (yes !== true && context.terminal === undefined) {
    // SECURITY: T-34 — nobody to ask means no, unless somebody said yes beforehand.
    throw new CliError('cli.not_confirmed', 'There is nobody to ask whether the device may join.', {
      fix: 'Run it in a terminal, or give --yes.',
    });
  }
  const place = placeOf(listen, identity);
  return {
    terms: {
      kind: found,
      name: identity.checkDeviceName(name),
      ...(replace === undefined ? {} : { replaces: parseId('device', replace) }),
    },
    place,
    address: typeof address === 'string' ? address : reachable(place.host),
    principal: typeof principal === 'string' ? identity.checkPrincipal(principal, found) : undefined,
    isConfirmed: yes === true,
  };
}

function placeOf(listen: unknown, identity: IdentityModule): PairingPlace {
  if (typeof listen !== 'string') return { port: 0 };
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(listen) ?? [];
  if (port === '0') return { host: host.replace(/^\[(.*)\]$/, '$1'), port: 0 };
  return identity.parseJoinTarget(listen).address;
}

/** What is listened on, or the first address that others may reach. A machine with several has --address. */
function reachable(host: string | undefined): string {
  if (host !== undefined && !ALL_ADDRESSES.includes(host)) return host;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address ?? '127.0.0.1';
}

const ALL_ADDRESSES: readonly string[] = ['', '0.0.0.0', '::'];

interface Hosted {
  readonly listener: PairingListener;
  readonly invitation: NewInvitation;
  readonly address: string;
  readonly url: string;
}

async function hostForPerson(plan: Plan, terminal: Terminal, means: Means): Promise<CommandResult> {
  const { identity } = means;
  const confirm: ConfirmPairing = async (request, signal) => {
    if (plan.isConfirmed) return 'confirmed';
    const answer = await terminal.ask(questionOf(request, means.issuer.principalOf(request), identity), signal);
    return answer.trim().toLowerCase() === 'yes' ? 'confirmed' : 'refused';
  };
  const onProgress = (event: HostProgress): void => terminal.progress(sentenceOf(event, identity));
  return hosting(plan, means, {
    confirm,
    onProgress,
    async onInvited(hosted) {
      const code = await qrCodeOf(hosted.url);
      const texts = [' ', '\n  '].map((gap) => `Scan it, or run on the device:\n\n${invitationText(hosted, gap)}`);
      if (terminal.showCode({ code, texts })) return;
      const instead = 'Or paste this URL there, instead of both.\nThe window is too small for its QR code.';
      terminal.show(`Run on the device:\n\n${invitationText(hosted, ' ')}\n\n${instead}\n\n${hosted.url}\n`);
    },
  });
}

/** Events as they happen. The secret is among them: whoever starts this without a terminal has to pass it on. */
function hostForProgram(plan: Plan, means: Means): CommandResult {
  const events = createEventLines();
  const run = async (): Promise<void> => {
    const { json } = await hosting(plan, means, {
      confirm: async () => 'confirmed',
      onProgress: (event) => events.push(eventOf(event)),
      async onInvited({ invitation, address, url }) {
        const { id, pin, expiresAt } = invitation;
        events.push({ event: 'invited', invitation: id, pin: reveal(pin), url, address, expiresAt });
      },
    });
    events.push({ event: 'ended', ...Object(json) });
  };
  run().then(() => events.end(), events.end);
  return { json: null, render: () => '', stream: events.lines };
}

interface Watch {
  readonly confirm: ConfirmPairing;
  readonly onProgress: (event: HostProgress) => void;
  readonly onInvited: (hosted: Hosted) => Promise<void>;
}

/** From the invitation to its end, whichever that is; nothing stays open behind it. */
async function hosting(plan: Plan, means: Means, watch: Watch): Promise<CommandResult> {
  const { issuer, identity, context } = means;
  try {
    await refuseUnknown(plan.terms, issuer, identity);
    const hosted = await open(plan, means, watch);
    context.signal.addEventListener('abort', () => void hosted.listener.close(), { once: true });
    try {
      await watch.onInvited(hosted);
      return resultOf(await hosted.invitation.ended, plan.terms, identity);
    } finally {
      await hosted.listener.close();
    }
  } finally {
    await issuer.close();
  }
}

/** Before anybody is invited: else it would be found out when the device has been confirmed, and the invitation is used up. */
async function refuseUnknown(
  { replaces, kind }: InvitationTerms,
  { findDevice }: PairingIssuer,
  { PairingError }: IdentityModule,
): Promise<void> {
  if (replaces === undefined || (await findDevice(replaces))?.kind === kind) return;
  throw new PairingError('pairing.invalid_invitation', `There is no device ${replaces} of kind ${kind} to replace.`, {
    fix: '"palyra device list" shows those there are; one that was revoked is paired as a new device.',
  });
}

async function open(plan: Plan, { issuer, identity }: Means, watch: Watch): Promise<Hosted> {
  const listener = await identity.openPairingListener(
    {
      ...watch,
      ...issuer,
      credential: await issuer.listenerCredential(plan.address),
      clock: systemClock,
      randomBytes: secureRandomBytes,
      deadlines: identity.DEADLINES,
    },
    plan.place,
  );
  const invitation = listener.invite(plan.terms);
  const address = { host: plan.address, port: listener.port };
  const target = { address, invitation: invitation.id, ca: listener.ca };
  const url = identity.renderJoinUrl(target, reveal(invitation.code));
  return { listener, invitation, address: identity.renderAddress(address), url };
}

/** Narrow, so that it has room beside the code; more so with a line's end as the gap. */
function invitationText({ invitation, address }: Hosted, gap: string): string {
  const pin = reveal(invitation.pin);
  return [
    `  palyra device join${gap}${address}`,
    '',
    'and type this PIN there:',
    '',
    `  ${pin.slice(0, 4)} ${pin.slice(4)}`,
    '',
    'Good for one device, ten minutes',
    'and five tries.',
  ].join('\n');
}

function questionOf(request: PairingRequest, principal: string, { shownName }: IdentityModule): string {
  const { name, kind, ownName, address, key, device } = request;
  const replacing = device === undefined ? '' : `\n  replaces      ${device}`;
  return (
    `A device has proven the PIN or the code:\n  name          ${shownName(name)}\n  kind          ${kind}\n` +
    `  whose         ${principal}\n  address       ${address}\n  calls itself  ${shownName(ownName)}\n  key           ${key}${replacing}\n` +
    'Shall it join? Type yes: '
  );
}

function sentenceOf(event: HostProgress, { shownName }: IdentityModule): string {
  switch (event.kind) {
    case 'connected':
      return `${event.peer} has connected.`;
    case 'trying':
      return `${event.peer} tries a PIN; ${event.triesLeft} tries are left after it.`;
    case 'proven':
      return `${event.peer} (${shownName(event.ownName)}) has proven it.`;
    case 'issued':
      return `The certificate for ${event.device} is issued.`;
    case 'paired':
      return `${event.device} is paired.`;
    case 'dropped':
      return `${event.peer}: ${event.error.message}`;
  }
}

function eventOf(event: HostProgress): object {
  const { kind, ...others } = event;
  if (event.kind !== 'dropped') return { event: kind, ...others };
  return { event: kind, peer: event.peer, code: event.error.code, message: event.error.message };
}

/** Throws what it ended with, when that is not a paired device. */
function resultOf(end: InvitationEnd, { kind, name }: InvitationTerms, identity: IdentityModule): CommandResult {
  switch (end.kind) {
    case 'paired': {
      const { device, acknowledged } = end;
      return {
        json: { device, kind, name, acknowledged },
        render: () => `Paired ${identity.shownName(name)} as ${kind}: ${device}\n`,
        warnings: acknowledged
          ? []
          : ['The device did not say that it has its certificate. If it lacks it, pair it again.'],
      };
    }
    case 'failed':
      throw end.error;
    case 'burnt':
    case 'cancelled':
    case 'expired':
      throw new identity.PairingError(`pairing.${end.kind}`, identity.PAIRING_ERRORS[`pairing.${end.kind}`], {
        fix: 'Invite the device again: palyra device pair.',
      });
  }
}
