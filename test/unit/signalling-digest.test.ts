import { describe, expect, it } from "vitest";
import { type Credentials, Secret } from "../../src/secret.ts";
import { answerable, type Challenge, digestCredentials, readChallenges } from "../../src/signalling/digest.ts";
import { DigestClient } from "../../src/signalling/digest-client.ts";
import type { IncomingResponse } from "../../src/signalling/port.ts";

const mufasa = (password: string): Credentials => ({ user: "Mufasa", realm: "", password: new Secret(password) });

const read = (value: string): Challenge => {
  const [challenge] = readChallenges(value);
  if (!challenge) throw new Error(`no challenge in ${value}`);
  return challenge;
};

const responseIn = (credentials: string): string | undefined => /response="([0-9a-f]+)"/.exec(credentials)?.[1];

describe("digest credentials", () => {
  const get = { method: "GET", uri: "/dir/index.html", body: "", count: 1 };
  const rfc7616 =
    'realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="x"';
  const cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";

  it.each([
    ["MD5", "8ca523f5e9506fed4657c9700eebdbec"],
    ["SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"],
  ])("are those of RFC 7616 section 3.9.1 by %s", (algorithm, response) => {
    const challenge = read(`Digest ${rfc7616}, algorithm=${algorithm}`);
    const credentials = digestCredentials(challenge, mufasa("Circle of Life"), { ...get, cnonce });
    expect(responseIn(credentials)).toBe(response);
    expect(credentials).toContain(`algorithm=${algorithm}, cnonce="${cnonce}", qop=auth, nc=00000001, opaque="x"`);
  });

  it("are those of RFC 2617 section 3.5, and of RFC 2069 without qop", () => {
    const nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c093";
    const challenge = read(`Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="${nonce}"`);
    const request = { ...get, cnonce: "0a4f113b" };
    const { password } = mufasa("Circle Of Life");
    expect(responseIn(digestCredentials(challenge, { user: "Mufasa", realm: "", password }, request))).toBe(
      "6629fae49393a05397450978507c4ef1",
    );
    const old = digestCredentials({ ...challenge, qop: undefined }, mufasa("Circle Of Life"), request);
    expect(responseIn(old)).toBe("670fd8c2df070c60b045671b8b24ff02");
    expect(old).not.toContain("nc=");
  });

  it("hash the body where only auth-int will do, and are bound to the session for -sess", () => {
    const challenge = read('Digest realm="r", nonce="n", qop="auth-int", algorithm=MD5-sess');
    const of = (body: string) => responseIn(digestCredentials(challenge, mufasa("p"), { ...get, body, cnonce: "c" }));
    expect(of("a")).not.toBe(of("b"));
    const plain = { ...challenge, algorithm: "md5" } as const;
    expect(responseIn(digestCredentials(plain, mufasa("p"), { ...get, body: "a", cnonce: "c" }))).not.toBe(of("a"));
  });

  it("quote what needs it", () => {
    const challenge = read('Digest realm="a \\"b\\" c", nonce="n"');
    expect(challenge.realm).toBe('a "b" c');
    expect(digestCredentials(challenge, mufasa("p"), { ...get, cnonce: "c" })).toContain('realm="a \\"b\\" c"');
  });
});

describe("challenges", () => {
  it("are read one by one out of a joined field, and those that cannot be answered are left out", () => {
    const joined =
      'Digest realm="a", nonce="1", algorithm=SHA-256, qop="auth", Basic realm="b", Digest realm="c,d", nonce="2", ' +
      'Digest realm="e", nonce="3", algorithm=TOKEN-9, Digest realm="f", nonce="4", qop="token", Digest realm="g"';
    expect(readChallenges(joined).map(({ realm }) => realm)).toEqual(["a", "c,d"]);
    expect(readChallenges('Digest realm="a", nonce="1"\r\nwww-authenticate: Digest realm="b", nonce="2"')).toHaveLength(
      2,
    );
    expect(readChallenges("")).toEqual([]);
  });

  it("are answered in the server's order of preference, and by realm where the credentials name one", () => {
    const challenges = readChallenges(
      'Digest realm="a", nonce="1", algorithm=SHA-256, Digest realm="a", nonce="2", Digest realm="b", nonce="3"',
    );
    expect(answerable(challenges, mufasa("p"))?.nonce).toBe("1");
    expect(answerable(challenges, { ...mufasa("p"), realm: "b" })?.nonce).toBe("3");
    expect(answerable(challenges, { ...mufasa("p"), realm: "z" })).toBeUndefined();
  });
});

describe("a client of digest", () => {
  const request = { method: "INVITE", uri: "sip:a@b", body: "" };
  const challenged = (nonce: string, more = ""): IncomingResponse => ({
    status: 401,
    reason: "Unauthorized",
    headers: { "www-authenticate": `Digest realm="r", nonce="${nonce}", qop="auth"${more}` },
    body: "",
    dialogId: "",
    reliable: false,
    ack() {},
  });
  const none = { nonces: {}, fresh: {} };
  const countIn = (headers: Readonly<Record<string, string>> | undefined) =>
    /nc=(\w+)/.exec(headers?.authorization ?? "")?.[1];

  it("has none before the first challenge, and counts the uses of a nonce from then on", () => {
    const client = new DigestClient(mufasa("p"));
    expect(client.foresee(request).headers).toEqual({});
    expect(countIn(client.answer(challenged("n"), request, none)?.headers)).toBe("00000001");
    expect(countIn(client.foresee(request).headers)).toBe("00000002");
    // The same nonce again, for a request that had no credentials.
    expect(countIn(client.answer(challenged("n"), request, none)?.headers)).toBe("00000003");
    expect(countIn(client.answer(challenged("m"), request, none)?.headers)).toBe("00000001");
  });

  it("answers a stale nonce again, and gives up when fresh credentials are not good", () => {
    const client = new DigestClient(mufasa("p"));
    const first = client.answer(challenged("1"), request, none);
    const second = client.answer(challenged("2", ", stale=TRUE"), request, first?.answered ?? none);
    expect(countIn(second?.headers)).toBe("00000001");
    expect(client.answer(challenged("3"), request, second?.answered ?? none)).toBeUndefined();
    expect(client.answer(challenged("2", ", stale=true"), request, second?.answered ?? none)).toBeUndefined();
    expect(client.foresee(request).headers).toEqual({});
  });

  it("takes credentials foreseen in vain for no proof that they are wrong", () => {
    const client = new DigestClient(mufasa("p"));
    client.answer(challenged("1"), request, none);
    const foreseen = client.foresee(request);
    expect(client.answer(challenged("2"), request, foreseen.answered)).toBeDefined();
  });
});

describe("a secret", () => {
  it("shows itself to nobody who does not ask for it", () => {
    const secret = new Secret("geheim");
    expect([String(secret), `${secret}`, JSON.stringify({ secret })].join()).not.toContain("geheim");
    expect(secret.reveal()).toBe("geheim");
  });
});
