/** The proxy with a resolver that a test wrote: names in the order of its answers, the last one for good; each question goes to stderr. */
import { runProxy } from '../../packages/egress/src/proxy/run-proxy.ts';

/** Loopback stands for everything: 127.0.0.1 is opened by the tests, the others are what a tool must not reach. */
const ANSWERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'good.test': [['127.0.0.1']],
  'inner.test': [['127.0.0.2']],
  'rebind.test': [['127.0.0.1'], ['127.0.0.2']],
  'mixed.test': [['127.0.0.1', '127.0.0.2']],
  'mapped.test': [['::ffff:127.0.0.1']],
  'six.test': [['::1']],
  'nothing.test': [[]],
  'nonsense.test': [['localhost']],
};

const asked = new Map<string, number>();

runProxy({
  async resolve(name) {
    process.stderr.write(`resolve ${name}\n`);
    const answers = ANSWERS[name] ?? [];
    const turn = asked.get(name) ?? 0;
    asked.set(name, turn + 1);
    return answers[Math.min(turn, answers.length - 1)] ?? [];
  },
});
