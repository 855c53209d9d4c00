import { SETUP_ERRORS, SetupError } from './setup-error.mjs';

/**
 * @typedef {{ name: string, status: 'ready' | 'done', detail: string, ms: number }} StepResult
 *
 * @typedef {object} Report
 * @property {(name: string, why: string) => void} begin
 * @property {(holder: number) => void} waiting
 * @property {(result: StepResult) => void} step
 * @property {() => void} end
 * @property {(error: unknown) => number} fail returns the exit code
 */

const SPINNER_MS = 200;

/**
 * What a person (or with `json` a program) sees of a set-up. `quiet` shows only steps that did something.
 * @param {{ json: boolean, quiet: boolean, out: NodeJS.WriteStream }} options
 * @returns {Report}
 */
export function createReport({ json, quiet, out }) {
  const progress = createProgress(json ? process.stderr : out);
  const started = performance.now();
  /** @type {StepResult[]} */
  const steps = [];

  return {
    begin: (name, why) => progress.start(`${name}: ${why}`),
    waiting: (holder) => progress.start(`waiting for another set-up (pid ${holder})`),
    step(result) {
      progress.stop();
      steps.push({ ...result, ms: Math.round(result.ms) });
      if (json || (quiet && result.status === 'ready')) return;
      out.write(
        `setup  ${result.name.padEnd(17)} ${result.status.padEnd(5)}  ${seconds(result.ms)}  ${result.detail}\n`,
      );
    },
    end() {
      if (json) out.write(`${JSON.stringify({ ok: true, steps, ms: Math.round(performance.now() - started) })}\n`);
    },
    fail(error) {
      progress.stop();
      if (!(error instanceof SetupError)) throw error;
      const { code, message, fix, output } = error;
      if (output) process.stderr.write(`${output}\n`);
      if (json) out.write(`${JSON.stringify({ ok: false, steps, error: { code, message, fix } })}\n`);
      else process.stderr.write(`error[${code}]: ${message}\nfix: ${fix}\n`);
      return SETUP_ERRORS[code].exitCode;
    },
  };
}

/** @param {NodeJS.WriteStream} out */
function createProgress(out) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const stop = () => {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    out.write('\r\u001b[K');
  };
  return {
    stop,
    /** @param {string} text */
    start(text) {
      stop();
      if (!out.isTTY) {
        out.write(`setup  ${text} …\n`);
        return;
      }
      const since = performance.now();
      const draw = () => {
        const line = `setup  ${text} … ${seconds(performance.now() - since).trim()}`;
        out.write(`\r\u001b[K${line.slice(0, Math.max(20, out.columns - 1))}`);
      };
      draw();
      timer = setInterval(draw, SPINNER_MS);
    },
  };
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)} s`.padStart(7);
}
