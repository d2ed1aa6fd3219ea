import { describe, expect, test } from 'vitest';
import { findObject } from '../../../../functions/step/find-object.ts';
import type { Marks, MarksPort } from '../../../../functions/step/marks.ts';
import type { Run } from '../../../../functions/step/run.ts';
import { snapshotOf } from '../../../../functions/step/snapshot.ts';
import { done } from '../../../../shared/events/outcome.ts';
import { kcpKey, marks, provider, serviceObject, standardKey } from '../objects.ts';
import { answer, Home, runWith } from './home.ts';

const NOW = new Date('2026-05-05T05:05:05Z');
const PATIENCE_MS = 60_000;
const gone = (): Home => {
  const home = new Home();
  home.object = undefined;
  return home;
};

function holder(found: Marks | undefined): MarksPort & { readonly written: Record<string, string | null>[] } {
  const written: Record<string, string | null>[] = [];
  return {
    written,
    read: () => Promise.resolve(found),
    write: (annotations) => {
      written.push({ ...annotations });
      return Promise.resolve(found && { ...found, goneSince: NOW });
    },
  };
}

describe('an object that is gone', () => {
  const spec = { size: 'large' };
  const installed = marks({
    installed: 'uid-1 4',
    snapshot: snapshotOf({ ...serviceObject([], { labels: { team: 'a' } }), spec }),
  });

  test('comes as it was installed last, marked for deletion and held by us', async () => {
    const found = await findObject(runWith(gone(), { marks: holder(installed) }));
    expect(found).toMatchObject({
      object: {
        metadata: {
          name: 'shop',
          namespace: 'project-a',
          uid: 'uid-1',
          generation: 4,
          labels: { team: 'a' },
          finalizers: [provider.finalizer],
          deletionTimestamp: NOW.toISOString(),
        },
        spec,
      },
      run: { gone: true },
    });
  });

  test.each([
    ['nothing of it is left', undefined],
    ['what is left is of another incarnation', marks({ owner: { ...standardKey, uid: 'uid-0' } })],
    ['what is left is of another object', marks({ owner: { ...standardKey, name: 'other' } })],
  ])('is done with where %s', async (_what, found) => {
    expect(await findObject(runWith(gone(), { marks: holder(found) }))).toEqual(done());
  });

  test('is left to another of its name, unless its removal has begun', async () => {
    const home = new Home(serviceObject([], { uid: 'uid-2' }));
    expect(await findObject(runWith(home, { marks: holder(installed) }))).toEqual(done());
    const removing = holder({ ...installed, uninstalled: 'uid-1' });
    expect(await findObject(runWith(home, { marks: removing }))).toMatchObject({ run: { gone: true } });
  });
});

describe('a workspace that does not bind us', () => {
  const held = marks({ owner: { ...standardKey, ...kcpKey }, installed: 'uid-1 1' });
  const unbound = (found: Marks | undefined) => {
    const home = new Home();
    home.readFailure = answer(403, 'Forbidden');
    const port = holder(found);
    const workspace = { isBound: () => Promise.resolve(false), tuning: { teardownPatienceMs: PATIENCE_MS } };
    return {
      port,
      run: runWith(home, { key: kcpKey, marks: port, workspace: workspace as unknown as Run['workspace'] as never }),
    };
  };

  test('is believed only a good while later', async () => {
    const { port, run } = unbound(held);
    expect(await findObject(run)).toMatchObject({ kind: 'again', afterMs: PATIENCE_MS });
    expect(port.written).toEqual([{ 'service-provider.open-control-plane.io/gone-since': NOW.toISOString() }]);
    const later = unbound({ ...held, goneSince: new Date(NOW.getTime() - PATIENCE_MS + 1_000) });
    expect(await findObject(later.run)).toMatchObject({ kind: 'again', afterMs: 1_000 });
    const last = unbound({ ...held, goneSince: new Date(NOW.getTime() - PATIENCE_MS) });
    expect(await findObject(last.run)).toMatchObject({ run: { gone: true, workspace: { gone: true } } });
  });

  test('whose namespace on the platform is on its way out already is done with', async () => {
    const { port, run } = unbound({ ...held, uninstalled: 'uid-1', ending: true });
    expect(await findObject(run)).toEqual(done());
    expect(port.written).toEqual([]);
  });

  test('of which nothing is left costs nothing', async () => {
    expect(await findObject(unbound(undefined).run)).toEqual(done());
  });
});
