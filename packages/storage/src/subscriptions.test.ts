import { expect, test } from 'vitest';
import { createSubscriptions } from './subscriptions.ts';

test('one listener may subscribe twice and close once', () => {
  const subscriptions = createSubscriptions({ error: () => undefined });
  const heard: string[] = [];
  const listener = (event: { kind: string }) => heard.push(event.kind);
  const first = subscriptions.add('runs', listener);
  subscriptions.add('runs', listener);
  first.close();
  first.close();
  subscriptions.tell([{ channel: 'runs', payload: 'x' }]);
  subscriptions.tellGap();
  expect(heard).toEqual(['notified', 'gap']);
});

test('a listener that throws is logged and the next one still hears', () => {
  const logged: unknown[] = [];
  const subscriptions = createSubscriptions({ error: (_fields, message) => logged.push(message) });
  const heard: string[] = [];
  subscriptions.add('runs', () => {
    throw new Error('bad');
  });
  subscriptions.add('runs', (event) => heard.push(event.kind));
  subscriptions.tell([{ channel: 'runs', payload: 'x' }]);
  expect({ logged, heard }).toEqual({ logged: ['a storage subscriber threw'], heard: ['notified'] });
});
