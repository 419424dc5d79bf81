// SPDX-License-Identifier: Apache-2.0
// The data pipeline as a picture: who works, who waits for whom, how full each queue is, and what follows from it.

const kWaitsLong = 0.5;      // of its time: worth a sentence
const kModelWaits = 0.05;    // the model should not wait at all

const stageName = name => say.stages[name]?.[0] ?? name;

function verdictText(verdict) {
  const text = say.verdicts[verdict.code];
  if (!text) return verdict.sentence;
  return text({ready: ifKnown(verdict.ready_steps), steps: ifKnown(verdict.steps), share: percentText(verdict.ready), waited: percentText(verdict.waited_share),
               stage: stageName(verdict.stage), busy: percentText(verdict.stage_busy), remedy: remedyText(verdict)});
}

function remedyText({stage, remedy}) {
  if (!say.remedies || !remedy) return remedy;
  return (say.remedies[stage] ?? say.remedies.other) + (remedy.includes('--cache-dataset') ? say.remedies.cache : '');
}

// The shares of a stage's time as one bar, and in words.
function loadOf({busy, waits_for_input: input, waits_for_output: output}) {
  const parts = [['busy', busy, say.works], ['input', input, say.waits_in], ['output', output, say.waits_out]].filter(([, share]) => isNumber(share));
  const bar = make('div', {className: 'load', ariaHidden: 'true'}, ...parts.map(([kind, share]) => {
    const piece = make('span', {className: kind});
    piece.style.width = `${100 * share}%`;
    return piece;
  }));
  const words = parts.map(([kind, share, text]) =>
    make('li', {}, make('span', {className: 'load key', ariaHidden: 'true'}, make('span', {className: kind})), text(percentText(share))));
  return [bar, make('ul', {className: 'hint shares'}, ...words)];
}

function stageBox(stage) {
  const [title, does] = say.stages[stage.name] ?? [stage.name, ''];
  const box = make('li', {className: 'stage'}, make('h4', {textContent: title}), hintOf(does));
  if (stage.workers > 1) box.append(hintOf(say.workers(inWords(stage.workers))));
  box.append(...loadOf(stage));
  return box;
}

function queueTank({name, depth, capacity, mean_depth: mean}) {
  const level = make('span', {className: 'level'});
  level.style.height = `${capacity ? Math.min(100, 100 * depth / capacity) : 0}%`;
  const tank = make('div', {className: 'tank', ariaHidden: 'true'}, level);
  const texts = [make('b', {textContent: say.fill(ifKnown(depth), ifKnown(capacity))}), make('span', {textContent: say.queues[name] ?? name})];
  if (isNumber(mean)) texts.push(make('span', {className: 'hint', textContent: say.fill_mean(inWords(mean, 1))}));
  return make('li', {className: 'queue'}, tank, make('div', {className: 'queue-text'}, ...texts));
}

// Stages and queues in the order of flow, the model last.
function flowOf({stages, queues, trainer}) {
  const items = stages.flatMap(stage => [stageBox(stage), ...queues.filter(queue => queue.from === stage.name).map(queueTank)]);
  if (trainer) items.push(stageBox({...trainer, name: 'trainer', workers: 1, waits_for_output: null}));
  return make('ol', {className: 'flow'}, ...items);
}

function whoWaits({stages, queues, trainer}) {
  const before = name => queues.find(queue => queue.to === name)?.from;
  const after = name => queues.find(queue => queue.from === name)?.to;
  const sentence = (who, whom, share, text) => text(stageName(who), stageName(whom), percentText(share));
  const found = [];
  // Where a stage waits for room and the one behind it for input, what holds both back is further on: clips in flight are limited, too.
  const isHeldBack = (one, other) => one?.waits_for_output >= kWaitsLong && other?.waits_for_input >= kWaitsLong;
  stages.forEach((stage, i) => {
    const {name, waits_for_input: input, waits_for_output: output} = stage;
    const [previous, next] = [stages[i - 1], stages[i + 1]];
    if (isHeldBack(previous, stage) && after(name)) found.push(sentence(name, after(name), input, say.waiting_room));
    else if (input >= kWaitsLong && before(name)) found.push(sentence(name, before(name), input, say.waiting_for));
    const whom = isHeldBack(stage, next) ? after(next.name) : after(name);
    if (output >= kWaitsLong && whom) found.push(sentence(name, whom, output, say.waiting_room));
  });
  if (trainer?.waits_for_input >= kModelWaits) {
    found.push(sentence('trainer', before('trainer') ?? stages.at(-1).name, trainer.waits_for_input, say.waiting_for));
  }
  return found;
}

function deviceText(role) {
  if (!role) return say.unknown;
  const known = role.gpu ? [role.gpu.name, sizeText(role.gpu.memory_bytes)] : isNumber(role.threads) ? [say.workers(inWords(role.threads))] : [];
  return [role.device, ...known].join(', ');
}

function planCard({mode, data, model}) {
  const rows = [[say.data_device, data], [say.model_device, model]].map(([name, role]) =>
    make('div', {}, make('dt', {textContent: name}), make('dd', {textContent: deviceText(role), dir: 'auto'})));
  return make('section', {className: 'card'}, make('h3', {}, `${say.devices} `, make('span', {className: 'hint', textContent: say.modes[mode] ?? mode ?? ''})),
              make('dl', {className: 'figures'}, ...rows));
}

class PipelineTab {
  constructor(view) {
    this.view = view;
    this.place = $('pipeline-view');
    this.picture = make('div', {className: 'stack'});
    this.queues = make('div', {className: 'charts'});
    this.place.replaceChildren(this.picture, this.queues);
  }

  show({pipeline, verdict, plan, curves}) {
    const seen = JSON.stringify([pipeline, verdict, plan]);
    if (seen !== this.seen) this.picture.replaceChildren(...this.cards(pipeline, verdict, plan));
    this.seen = seen;
    this.addQueues(curves.map(curve => curve.name).filter(name => /^train\/pipeline\..*\.depth$/.test(name)));
  }

  cards(pipeline, verdict, plan) {
    const cards = [];
    if (verdict) {
      const text = make('p', {textContent: verdictText(verdict), dir: 'auto'});
      const card = make('section', {className: 'card verdict'}, make('h3', {textContent: say.verdict}), text);
      card.dataset.verdict = verdict.code;
      cards.push(card);
    }
    if (pipeline?.stages.length) cards.push(this.pictureCard(pipeline), this.waitingCard(pipeline));
    else cards.push(make('p', {className: 'card', textContent: pipeline ? say.no_stages : say.no_pipeline}));
    if (plan) cards.push(planCard(plan));
    return cards;
  }

  pictureCard(pipeline) {
    const card = make('section', {className: 'card'}, hintOf(say.pipeline_hint), flowOf(pipeline));
    const {decoded, decoded_limit: limit, staged} = pipeline.memory ?? {};
    if (isNumber(decoded)) card.append(hintOf(say.pipeline_memory(sizeText(decoded), sizeText(limit), sizeText(staged))));
    if (isNumber(pipeline.time)) card.append(hintOf(say.read_at(timeText(pipeline.time))));
    return card;
  }

  waitingCard(pipeline) {
    const sentences = whoWaits(pipeline);
    const list = sentences.length ? make('ul', {}, ...sentences.map(text => make('li', {textContent: text}))) : make('p', {textContent: say.nobody_waits});
    return make('section', {className: 'card'}, make('h3', {textContent: say.who_waits}), list);
  }

  addQueues(names) {
    if (!names.length || this.queues.children.length) return;
    const place = name => Object.keys(say.queues).indexOf(name.split('.')[1]);
    names.sort((a, b) => place(a) - place(b));  // in the order of flow
    const {curves, span} = this.view;
    const lines = names.map((name, i) => ({name, curves, colour: i + 1, label: say.queues[name.split('.')[1]] ?? name.split('.')[1]}));
    const [title, hint] = titleOf('queues');
    this.queues.append(new Chart(span, {title, hint, format: plainNumber, floor: 0, isMain: true, hasNoBand: true}, lines).element);
    curves.load(names).catch(showError);
  }
}
