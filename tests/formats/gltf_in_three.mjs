// Joint positions as three.js plays them: node gltf_in_three.mjs NODE_MODULES FILE ANIMATION TIMES
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, file, animation, times] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(modules, 'three', path)).href);
globalThis.self ??= globalThis;
const THREE = await load('build/three.module.js');
const { GLTFLoader } = await load('examples/jsm/loaders/GLTFLoader.js');

const bytes = readFileSync(file);
const content = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const gltf = await new GLTFLoader().parseAsync(content, '');
const bones = [];
gltf.scene.traverse((object) => object.isSkinnedMesh && bones.push(...object.skeleton.bones));
const mixer = new THREE.AnimationMixer(gltf.scene);
const clip = gltf.animations[Number(animation)];
mixer.clipAction(clip).setLoop(THREE.LoopOnce).play();
mixer.clipAction(clip).clampWhenFinished = true;
const positions = JSON.parse(times).map((time) => {
  mixer.setTime(time);
  gltf.scene.updateMatrixWorld(true);
  return bones.map((bone) => bone.getWorldPosition(new THREE.Vector3()).toArray());
});
console.log(JSON.stringify({
  positions,
  duration: clip.duration,
  names: gltf.animations.map((each) => each.name),
  extras: clip.userData.deepphase ?? null,
}));
