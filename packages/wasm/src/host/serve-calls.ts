import { type Ask, createGuest, type Guest } from './create-guest.ts';
import {
  askFrame,
  HELLO,
  type LoadedMessage,
  loadedFrame,
  readAnswer,
  readCall,
  readLoad,
  resultFrame,
  TO_HOST,
} from './messages.ts';
import type { Pipe } from './pipe.ts';

/** One module, then one call after the other, until palyrad is gone. */
export function serveCalls(pipe: Pipe): void {
  pipe.send(HELLO);
  const ask = askOver(pipe);
  let guest: Guest | undefined;
  for (let frame = pipe.next(); frame !== undefined; frame = pipe.next()) {
    switch (frame.type) {
      case TO_HOST.load: {
        // SECURITY: T-56 — a host is for one module of one principal, and is never given another.
        if (guest !== undefined) throw new Error('This host has a module already.');
        const { settings, module } = readLoad(frame.body);
        const loaded = load(() => createGuest(module, { settings, ask }));
        guest = loaded.guest;
        pipe.send(loadedFrame(loaded.message));
        break;
      }
      case TO_HOST.call:
        if (guest === undefined) throw new Error('There is no module to call.');
        // Told before the next one begins: of what is not told palyrad knows that at most the first has begun.
        pipe.send(resultFrame(guest.run(readCall(frame.body))));
        break;
      default:
        throw new Error('palyrad says something that means nothing here.');
    }
  }
}

function load(make: () => Guest): { readonly guest: Guest | undefined; readonly message: LoadedMessage } {
  try {
    const guest = make();
    return { guest, message: { kind: 'ready', restorable: guest.isRestorable } };
  } catch (error) {
    const text = error instanceof Error ? error.message : 'It cannot be made an instance.';
    const end = error instanceof RangeError ? 'memory_exceeded' : 'invalid_module';
    return { guest: undefined, message: { kind: 'refused', end, message: text } };
  }
}

/** The guest's thread waits: the next frame is the answer, because palyrad gives no other call to who asks. */
function askOver(pipe: Pipe): Ask {
  let lastNumber = 0;
  return ({ id, handle }, name, body) => {
    lastNumber += 1;
    pipe.send(askFrame({ id, handle, number: lastNumber, function: name, body: Buffer.from(body) }));
    const frame = pipe.next();
    if (frame === undefined) throw new Error('palyrad is gone.');
    const answer = readAnswer(frame.body);
    if (frame.type !== TO_HOST.answer || answer.id !== id || answer.number !== lastNumber) {
      throw new Error('That is not the answer.');
    }
    return answer;
  };
}
