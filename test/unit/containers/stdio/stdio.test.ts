import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AttachOptions, Conversation } from '../../../../api/types/ports.ts';
import { invalidArgument } from '../../../../daemon/base/errors.ts';
import { ContainerRig } from '../../../support/fakes/container-rig.ts';
import type { FakeChannel } from '../../../support/fakes/fake-runtime.ts';
import { settled } from '../../../support/fakes/manual-clock.ts';

let rig: ContainerRig;

beforeEach(async () => {
  rig = await ContainerRig.make();
});

afterEach(() => rig[Symbol.dispose]());

interface Client {
  socket: Socket;
  received: (this: void) => string;
  over: Promise<void>;
}

/** A client at the other end of a conversation, over a real socket that can be half closed. */
async function talk(conversation: Conversation): Promise<Client> {
  const path = join(rig.directory, `${Math.random()}.sock`);
  const server = createServer({ allowHalfOpen: true });
  server.listen(path);
  await once(server, 'listening');
  const socket = connect({ path, allowHalfOpen: true });
  const [accepted] = (await once(server, 'connection')) as [Socket];
  server.close();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  return { socket, received: () => text, over: conversation.connect(accepted) };
}

const all = { logs: false, stream: true, stdin: true, stdout: true, stderr: true };
const attach = async (id: string, change: Partial<AttachOptions> = {}): Promise<Client> =>
  talk(await rig.containers.attach(id, { ...all, ...change }));
const channelOf = (id: string): FakeChannel => rig.runtime.runs.get(id)!.channels.at(-1)!;
const frame = (stream: number, text: string): string =>
  `${String.fromCharCode(stream)}\0\0\0\0\0\0${String.fromCharCode(text.length)}${text}`;

describe('attach', () => {
  test('before the start misses nothing, and ends with the container', async () => {
    const id = await rig.create({ OpenStdin: true, StdinOnce: true });
    const client = await attach(id);
    client.socket.write('input');
    await rig.containers.start(id, {});
    rig.runtime.write(id, 'stdout', 'first');
    rig.runtime.write(id, 'stderr', 'second');
    const channel = channelOf(id);
    await expect.poll(client.received).toBe(frame(1, 'first') + frame(2, 'second'));
    await expect.poll(() => channel.input).toBe('input');
    client.socket.end();
    await expect.poll(() => channel.isInputOver).toBe(true);
    rig.runtime.write(id, 'stdout', 'last');
    await rig.exit(id, 0);
    await client.over;
    await expect.poll(() => client.received().endsWith(frame(1, 'last'))).toBe(true);
  });

  test('shows only the streams asked for; a terminal is raw', async () => {
    const id = await rig.run();
    const client = await attach(id, { stdout: false });
    rig.runtime.write(id, 'stdout', 'out');
    rig.runtime.write(id, 'stderr', 'err');
    await expect.poll(client.received).toBe(frame(2, 'err'));
    const terminal = await rig.run({ Tty: true });
    const raw = await attach(terminal);
    rig.runtime.write(terminal, 'stdout', 'raw');
    await expect.poll(raw.received).toBe('raw');
  });

  test('the detach keys end the conversation of a terminal, and the container goes on', async () => {
    const id = await rig.run({ Tty: true, OpenStdin: true });
    const client = await attach(id, { detachKeys: 'ctrl-a,d' });
    const channel = channelOf(id);
    client.socket.write('ls\x01dmore');
    await client.over;
    expect([channel.input, channel.isClosed, await rig.status(id)]).toEqual(['ls', true, 'running 0']);
    expect(rig.journal.actions()).toEqual(['attach', 'detach']);
  });

  test('with logs reads the log from its beginning and on, each byte once', async () => {
    const id = await rig.run();
    rig.runtime.write(id, 'stdout', 'past\n');
    const replay = await attach(id, { logs: true, stream: false });
    await replay.over;
    await expect.poll(replay.received).toBe(frame(1, 'past\n'));
    const [both, live] = [await attach(id, { logs: true }), await attach(id)];
    rig.runtime.write(id, 'stdout', 'present\n');
    await expect.poll(both.received).toBe(frame(1, 'past\n') + frame(1, 'present\n'));
    await rig.exit(id, 0);
    await Promise.all([both.over, live.over]);
    await expect.poll(live.received).toBe(frame(1, 'present\n'));
  });

  test('takes the channel where no log is kept', async () => {
    const id = await rig.run({ HostConfig: { NetworkMode: 'none', LogConfig: { Type: 'none' } } });
    await expect(rig.containers.attach(id, { ...all, stream: false, logs: true })).rejects.toMatchObject({
      code: 'not_implemented',
    });
    const clients = [await attach(id), await attach(id, { logs: true })];
    rig.runtime.write(id, 'stderr', 'live');
    for (const { received } of clients) {
      await expect.poll(received).toBe(frame(2, 'live'));
    }
  });

  test('while the first clients are being connected to a start misses nothing either', async () => {
    const id = await rig.create({ OpenStdin: true });
    const first = await attach(id);
    const connectNow = rig.runtime.attach.bind(rig.runtime);
    let late: Client | undefined;
    rig.runtime.attach = async (target) => {
      late ??= await attach(id);
      return connectNow(target);
    };
    await rig.containers.start(id, {});
    rig.runtime.write(id, 'stdout', 'first\n');
    await expect.poll(first.received).toBe(frame(1, 'first\n'));
    await expect.poll(() => late?.received()).toBe(frame(1, 'first\n'));
  });

  test('a client that vanishes gives back its place, before the start and after', async () => {
    const id = await rig.create({ OpenStdin: true });
    const early = await attach(id);
    early.socket.destroy();
    const conversation = await rig.containers.attach(id, all);
    conversation.abandon();
    await rig.containers.start(id, {});
    const client = await attach(id);
    const channel = channelOf(id);
    client.socket.destroy();
    // A half-closed connection and one that is gone differ only when written to.
    await expect
      .poll(() => {
        rig.runtime.write(id, 'stdout', 'x\n');
        return channel.isClosed;
      })
      .toBe(true);
    await Promise.all([client.over, early.over]);
  });

  test('refuses bad keys and a removed container', async () => {
    const id = await rig.create();
    await expect(rig.containers.attach(id, { ...all, detachKeys: 'ctrl-?' })).rejects.toThrow(
      'Invalid detach keys',
    );
    const client = await attach(id);
    await rig.containers.remove(id, { volumes: false, force: false, link: false });
    await client.over;
    await expect(rig.containers.attach(id, all)).rejects.toThrow(`No such container: ${id}`);
  });
});

describe('exec', () => {
  test('runs a command for a client, and has its exit code when the output ends', async () => {
    const id = await rig.run({}, 'web');
    const { Id } = await rig.execs.create('web', {
      Cmd: ['cat', '-n'],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
    });
    expect((await rig.containers.inspect(id, { size: false })).ExecIDs).toEqual([Id]);
    await rig.execs.resize(Id, { height: 1, width: 2 });
    const client = await talk((await rig.execs.start(Id, { detach: false, tty: false }))!);
    await expect.poll(() => rig.runtime.execs.length).toBe(1);
    const [process] = rig.runtime.execs;
    client.socket.end('in');
    await expect.poll(() => process!.stdin!.read()?.toString()).toBe('in');
    process!.stdout.write('out');
    process!.stderr!.write('err');
    await expect.poll(client.received).toBe(frame(1, 'out') + frame(2, 'err'));
    expect(await rig.execs.inspect(Id)).toMatchObject({ Running: true, ExitCode: null, Pid: 4711 });
    await expect(rig.execs.start(Id, { detach: false, tty: false })).rejects.toThrow('is already running');
    process!.end(5);
    await client.over;
    expect(await rig.execs.inspect(Id)).toMatchObject({
      Running: false,
      ExitCode: 5,
      ProcessConfig: { entrypoint: 'cat', arguments: ['-n'] },
      ContainerID: id,
    });
    expect(rig.journal.actions()).toEqual(['exec_create: cat -n', 'exec_start: cat -n', 'exec_die 5']);
    await expect(rig.execs.start(Id, { detach: false, tty: false })).rejects.toThrow('has already run');
  });

  test('that cannot be started says so in the stream and keeps 127', async () => {
    await rig.run({}, 'web');
    rig.runtime.exec = async () => {
      throw invalidArgument('exec: "nope": not found', { details: { exitCode: 127 } });
    };
    const { Id } = await rig.execs.create('web', { Cmd: ['nope'], AttachStdout: true });
    const client = await talk((await rig.execs.start(Id, { detach: false, tty: false }))!);
    await client.over;
    await expect.poll(client.received).toBe(frame(1, 'exec: "nope": not found\r\n'));
    expect((await rig.execs.inspect(Id)).ExitCode).toBe(127);
    const second = await rig.execs.create('web', { Cmd: ['nope'] });
    await expect(rig.execs.start(second.Id, { detach: true, tty: false })).rejects.toThrow('not found');
  });

  test('goes on when its client leaves by the detach keys or vanishes', async () => {
    await rig.run({}, 'web');
    const { Id } = await rig.execs.create('web', {
      Cmd: ['sh'],
      AttachStdin: true,
      AttachStdout: true,
      Tty: true,
    });
    const client = await talk(
      (await rig.execs.start(Id, { detach: false, tty: true, consoleSize: [24, 80] }))!,
    );
    await expect.poll(() => rig.runtime.execs[0]?.request.consoleSize).toEqual({ height: 24, width: 80 });
    await rig.execs.resize(Id, { height: 30, width: 90 });
    client.socket.write('\x10\x11');
    await client.over;
    expect([rig.runtime.execs[0]!.sizes, (await rig.execs.inspect(Id)).Running]).toEqual([['30x90'], true]);
    expect(rig.journal.actions()).toContain('exec_detach');
    rig.runtime.execs[0]!.end(0);
    await expect.poll(async () => (await rig.execs.inspect(Id)).Running).toBe(false);
  });

  test('is refused where nothing runs, and forgotten a while after its container ended', async () => {
    const created = await rig.create();
    await expect(rig.execs.create(created, { Cmd: ['x'] })).rejects.toThrow(
      `Container ${created} is not running`,
    );
    await expect(rig.execs.inspect('nope')).rejects.toThrow('No such exec instance: nope');
    const id = await rig.run();
    await expect(rig.execs.create(id, { Cmd: [] })).rejects.toThrow('No exec command specified');
    const { Id } = await rig.execs.create(id, { Cmd: ['x'] });
    const ended = await rig.execs.create(id, { Cmd: ['x'] });
    await rig.execs.start(ended.Id, { detach: true, tty: false });
    rig.runtime.execs.at(-1)!.end(3);
    await settled();
    await rig.exit(id, 0);
    // As with dockerd: what was never started is not found any more, what has ended tells its exit code for a while.
    await expect(rig.execs.start(Id, { detach: true, tty: false })).rejects.toThrow('No such exec instance');
    expect(await rig.execs.inspect(ended.Id)).toMatchObject({ Running: false, ExitCode: 3 });
    expect((await rig.containers.inspect(id, { size: false })).ExecIDs).toBeNull();
    await rig.clock.advance(60_000);
    await expect(rig.execs.inspect(ended.Id)).rejects.toThrow('No such exec instance');
  });

  test('is not found when its container is removed', async () => {
    const id = await rig.run();
    const { Id } = await rig.execs.create(id, { Cmd: ['x'] });
    await rig.execs.start(Id, { detach: true, tty: false });
    rig.runtime.execs.at(-1)!.end(0);
    await settled();
    await rig.exit(id, 0);
    await rig.containers.remove(id, { volumes: false, force: false, link: false });
    await expect(rig.execs.inspect(Id)).rejects.toThrow('No such exec instance');
  });

  test('instances of a container are bounded', async () => {
    const id = await rig.run();
    const ids: string[] = [];
    for (let count = 0; count < 300; count += 1) {
      const { Id } = await rig.execs.create(id, { Cmd: ['true'] });
      ids.push(Id);
      await rig.execs.start(Id, { detach: true, tty: false });
      rig.runtime.execs.at(-1)!.end(0);
      await settled();
    }
    const known = await Promise.allSettled(ids.map((Id) => rig.execs.inspect(Id)));
    expect(known.map(({ status }) => status === 'fulfilled')).toEqual(ids.map((_, index) => index >= 44));
    // Those that have ended can be inspected; the container shows the others.
    expect((await rig.containers.inspect(id, { size: false })).ExecIDs).toBeNull();
  });
});
