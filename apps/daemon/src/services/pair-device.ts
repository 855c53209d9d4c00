import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { DeviceService } from '@palyra/api';
import {
  checkDeviceName,
  checkPrincipal,
  DEVICE_KINDS,
  type Device,
  type HostProgress,
  type InvitationEnd,
  PAIRING_ERRORS,
  PairingError,
  shownName,
} from '@palyra/identity';
import { parseId } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { peerOf } from '../interceptors/peer-context.ts';
import type { Heard, PairingHost, WantedPairing } from '../pairing/host-invitations.ts';
import { deviceOf } from '../wire/device.ts';

type PairDevice = ServiceImpl<typeof DeviceService>['pairDevice'];
type PairDeviceRequest = Parameters<PairDevice>[0];
type PairDeviceEvent = ReturnType<PairDevice> extends AsyncIterable<infer Each> ? Each : never;

export interface PairDeviceDeps {
  readonly pairing: Pick<PairingHost, 'invite'>;
  findDevice(id: Device['id']): Promise<Device | undefined>;
}

/** From the invitation to its end, whichever that is; nothing stays open behind it. */
export function createPairDevice({ pairing, findDevice }: PairDeviceDeps): PairDevice {
  return async function* pairDevice(request: PairDeviceRequest, context: HandlerContext) {
    const events = createQueue<PairDeviceEvent>();
    const invited = await pairing.invite(wantedOf(request, peerOf(context).principal), (heard) =>
      events.push(eventOf(heard)),
    );
    const { id: invitationId, pin, joinUrl, address, expiresAt } = invited;
    context.signal.addEventListener('abort', () => void invited.close(), { once: true });
    try {
      const told = { invitationId, pin, joinUrl, address, expiresAt: timestampFromMs(expiresAt) };
      yield { event: { case: 'invitation', value: told } };
      void invited.ended.then(() => events.end());
      yield* events.all();
      const device = await findDevice(parseId('device', pairedOf(await invited.ended)));
      if (device !== undefined) yield { event: { case: 'joined', value: deviceOf(device) } };
    } finally {
      await invited.close();
    }
  };
}

function wantedOf({ kind, name, principal }: PairDeviceRequest, by: string): WantedPairing {
  const known = DEVICE_KINDS.find((each) => each === kind);
  if (known === undefined) {
    throw new DaemonError('daemon.invalid_request', 'There is no such kind of device.', {
      fix: `The kinds are ${DEVICE_KINDS.join(', ')}.`,
    });
  }
  const whose = principal === '' ? undefined : checkPrincipal(principal, known);
  return { kind: known, name: checkDeviceName(name), principal: whose, by };
}

function eventOf(heard: Heard): PairDeviceEvent {
  if (heard.kind === 'progress') return { event: { case: 'progress', value: sentenceOf(heard.progress) } };
  const { ownName, kind, address, key } = heard.request;
  return { event: { case: 'candidate', value: { name: shownName(ownName), kind, address, keySha256: key } } };
}

function sentenceOf(event: HostProgress): string {
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

/** Throws what it ended with, when that is not a paired device. */
function pairedOf(end: InvitationEnd): string {
  switch (end.kind) {
    case 'paired':
      return end.device;
    case 'failed':
      throw end.error;
    case 'burnt':
    case 'cancelled':
    case 'expired':
      throw new PairingError(`pairing.${end.kind}`, PAIRING_ERRORS[`pairing.${end.kind}`], {
        fix: 'Invite the device again: palyra device pair.',
      });
  }
}

interface Queue<Each> {
  push(each: Each): void;
  end(): void;
  all(): AsyncGenerator<Each>;
}

/** Bounded by what can happen to one invitation of five tries. */
function createQueue<Each>(): Queue<Each> {
  const waiting: Each[] = [];
  let isEnded = false;
  let wake = Promise.withResolvers<void>();
  const ring = () => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  return {
    push(each) {
      if (waiting.length < MOST_WAITING) waiting.push(each);
      ring();
    },
    end() {
      isEnded = true;
      ring();
    },
    async *all() {
      for (;;) {
        const { promise } = wake;
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else if (isEnded) return;
        else await promise;
      }
    },
  };
}

/** SECURITY: T-39 — whoever knocks a thousand times is not told of a thousand times. */
const MOST_WAITING = 256;
