#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several hosts train one model under SLURM: docs/guides/distributed.md. Corpus and run directory lie on a disk that every host sees.
#SBATCH --job-name=voice
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
srun --kill-on-bad-exit=1 myxtts train --device cpu --train-data /shared/corpus --checkpoint-dir /shared/runs/voice --rank-timeout 120 --resume
code=$?
[ $code -eq 143 ] && scontrol requeue "$SLURM_JOB_ID"
exit $code
